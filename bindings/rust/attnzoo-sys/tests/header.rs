//! Holds the declarations to the C header of the library that is linked: the same functions with the same arguments
//! and return types, the same constants with the same numbers, and nothing beyond. Both sides are read as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The installed header's folder; without pkg-config, that of the source tree.
fn header_folder() -> PathBuf {
    let include = match option_env!("ATTNZOO_SYS_INCLUDE_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../include"),
    };
    include.join("attnzoo")
}

/// Everything between `begin` and `end` taken out.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(begin) {
        kept.push_str(&rest[..start]);
        kept.push('\n');
        let inside = &rest[start + begin.len()..];
        rest = inside.find(end).map_or("", |stop| &inside[stop + end.len()..]);
    }
    kept + rest
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !character.is_whitespace() {
            words.push(character.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Cuts at commas that stand in no parentheses.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let mut depth = 0;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut().unwrap().push(character);
    }
    arguments.into_iter().map(|argument| argument.trim().to_string()).filter(|argument| !argument.is_empty()).collect()
}

/// A C type in Rust's words: `const char *const *` is `*const *const c_char`.
fn type_in_rust(c_type: &str) -> String {
    let mut is_const = false;
    let mut name = String::new();
    for word in words(c_type) {
        match word.as_str() {
            "const" => is_const = true,
            "struct" => {}
            "*" => {
                name = format!("{} {}", if is_const { "*const" } else { "*mut" }, name);
                is_const = false;
            }
            "void" => name = "c_void".into(),
            "char" => name = "c_char".into(),
            "double" => name = "c_double".into(),
            "int32_t" => name = "i32".into(),
            "int64_t" => name = "i64".into(),
            other => name = other.into(),
        }
    }
    name
}

/// `int32_t rank` as `rank: i32`, and a pointer to a function as Rust writes it.
fn argument_in_rust(argument: &str) -> String {
    if let Some((result, rest)) = argument.split_once("(*") {
        let (name, arguments) = rest.split_once(')').expect("a function pointer's name ends with a parenthesis");
        let arguments = arguments.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')')).expect(argument);
        assert_eq!(result.trim(), "void", "a callback that returns something: {}", argument);
        return format!("{}: Option<unsafe extern \"C\" fn({})>", name, arguments_in_rust(arguments));
    }
    let end = argument.rfind(|character: char| !character.is_alphanumeric() && character != '_').expect(argument) + 1;
    format!("{}: {}", &argument[end..], type_in_rust(&argument[..end]))
}

fn arguments_in_rust(arguments: &str) -> String {
    if arguments.trim() == "void" {
        return String::new();
    }
    split_arguments(arguments).iter().map(|argument| argument_in_rust(argument)).collect::<Vec<_>>().join(", ")
}

#[derive(Default)]
struct Interface {
    /// Name, and arguments with what is returned.
    functions: BTreeMap<String, String>,
    constants: BTreeMap<String, String>,
    handles: BTreeSet<String>,
}

impl Interface {
    fn add_function(&mut self, name: &str, arguments: &str, result: &str) {
        let signature: Vec<String> = words(&format!("({}) -> {}", arguments, result));
        let former = self.functions.insert(name.into(), signature.join(" "));
        assert!(former.is_none(), "{} is declared twice", name);
    }

    fn add_constant(&mut self, name: &str, value: &str) {
        let value = words(value).join(" ");
        let value = value.strip_prefix("( ").and_then(|text| text.strip_suffix(" )")).unwrap_or(&value).to_string();
        let former = self.constants.insert(name.into(), value);
        assert!(former.is_none(), "{} is declared twice", name);
    }
}

/// Reads one statement of a header, without comments and preprocessor lines.
fn read_statement(statement: &str, interface: &mut Interface) {
    if let Some(start) = statement.find("enum {") {
        let mut next = 0;
        for entry in statement[start + 6..].trim_end_matches(|end: char| end == '}' || end.is_whitespace()).split(',') {
            let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
            if name.trim().is_empty() {
                continue;
            }
            let number = if value.is_empty() { next } else { value.trim().parse().expect(entry) };
            interface.add_constant(name.trim(), &number.to_string());
            next = number + 1;
        }
    } else if let Some(declaration) = statement.trim().strip_prefix("ATTNZOO_API") {
        let (front, arguments) = declaration.split_once('(').expect("a function has arguments");
        let (arguments, _) = arguments.rsplit_once(')').expect("arguments end with a parenthesis");
        let argument = argument_in_rust(front.trim());
        let (name, result) = argument.split_once(": ").expect(front);
        let result = if result == "c_void" { "()" } else { result };
        interface.add_function(name, &arguments_in_rust(arguments), result);
    } else if let Some(rest) = statement.trim().strip_prefix("typedef struct") {
        interface.handles.insert(words(rest).pop().expect("a struct has a name"));
    }
}

fn read_header() -> Interface {
    let mut interface = Interface::default();
    let folder = header_folder();
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {}", folder.display(), error));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.extension().map_or(true, |extension| extension != "h") {
            continue;
        }
        let text = without(&fs::read_to_string(&path).unwrap(), "/*", "*/").replace("\\\n", " ");
        for line in text.lines().filter_map(|line| line.strip_prefix("#define ATTNZOO_")) {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            if name.starts_with("VERSION_") && !value.is_empty() {
                interface.add_constant(&format!("ATTNZOO_{}", name), value.trim());
            }
        }
        let code: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let code = code.join("\n").replace("ATTNZOO_BEGIN_DECLARATIONS", "").replace("ATTNZOO_END_DECLARATIONS", "");
        for statement in code.split(';') {
            read_statement(statement, &mut interface);
        }
    }
    interface
}

/// The text between `begin` and `end`, wherever both are found.
fn passages<'t>(text: &'t str, begin: &str, end: &str) -> Vec<&'t str> {
    text.split(begin).skip(1).map(|rest| rest.split(end).next().unwrap().trim()).collect()
}

fn read_declarations() -> Interface {
    let mut interface = Interface::default();
    let source = concat!(include_str!("../src/lib.rs"), include_str!("../src/dlpack.rs"));
    let source = without(source, "//", "\n");
    for declaration in passages(&source, "pub fn ", ";") {
        let (name, rest) = declaration.split_once('(').unwrap();
        // The last arrow is the function's own: no callback here returns anything.
        let (arguments, result) = rest.rsplit_once("->").unwrap_or((rest, "()"));
        let (arguments, _) = arguments.rsplit_once(')').unwrap();
        interface.add_function(name, &split_arguments(arguments).join(", "), result.trim());
    }
    for declaration in passages(&source, "pub const ", ";") {
        let (name, value) = declaration.split_once(':').unwrap();
        interface.add_constant(name, value.split_once('=').unwrap().1.trim());
    }
    for declaration in passages(&source, "opaque! {", "}") {
        interface.handles.insert(declaration.into());
    }
    interface
}

fn assert_same(what: &str, header: &BTreeMap<String, String>, declared: &BTreeMap<String, String>) {
    assert!(header.len() > 20, "only {} {} were found in the header", header.len(), what);
    let mut differences = Vec::new();
    for name in header.keys().chain(declared.keys()).collect::<BTreeSet<_>>() {
        if header.get(name) != declared.get(name) {
            differences.push(format!("{}\n  C    {:?}\n  Rust {:?}", name, header.get(name), declared.get(name)));
        }
    }
    assert!(differences.is_empty(), "{} that differ:\n{}", what, differences.join("\n"));
}

#[test]
fn functions_are_those_of_the_header() {
    assert_same("functions", &read_header().functions, &read_declarations().functions);
}

#[test]
fn constants_are_those_of_the_header() {
    assert_same("constants", &read_header().constants, &read_declarations().constants);
}

#[test]
fn handles_are_those_of_the_header() {
    assert_eq!(read_header().handles, read_declarations().handles);
}

#[test]
fn the_library_that_runs_is_not_older() {
    let version = unsafe { attnzoo_sys::attnzoo_version_number() };
    assert!(version >= attnzoo_sys::ATTNZOO_VERSION_NUMBER, "the library is {}", version);
    assert_eq!(version / 10000, attnzoo_sys::ATTNZOO_VERSION_MAJOR);
}
