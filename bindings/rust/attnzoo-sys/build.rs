//! Finds libattnzoo and tells cargo how to link it: through pkg-config, or as environment variables say (README.md).
//! Uses nothing but std and never the network.

use std::env;
use std::path::Path;
use std::process::{exit, Command};

/// The oldest library that has all that src/lib.rs declares.
const OLDEST_VERSION: &str = "1.0";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if variable("DOCS_RS").is_some() {
        // Documentation is built without the library, and links nothing.
        return;
    }
    let is_static = is_static();
    let result = match variable("ATTNZOO_LIB_DIR") {
        Some(folder) => link_folder(&folder, is_static),
        None => link_by_pkg_config(is_static),
    };
    if let Err(message) = result {
        eprintln!("attnzoo-sys: {}", message);
        exit(1);
    }
}

/// An environment variable that is set and not empty. Cargo builds anew when it changes.
fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={}", name);
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_static() -> bool {
    matches!(variable("ATTNZOO_STATIC").as_deref(), Some(value) if value != "0")
}

fn link_folder(folder: &str, is_static: bool) -> Result<(), String> {
    // Only the names that a Unix linker looks for: the library is developed and tested on Linux.
    let names: &[&str] = if is_static { &["libattnzoo.a"] } else { &["libattnzoo.so", "libattnzoo.dylib"] };
    if !names.iter().any(|name| Path::new(folder).join(name).exists()) {
        return Err(format!("ATTNZOO_LIB_DIR is {}, but there is no {} in it", folder, names.join(" or ")));
    }
    println!("cargo:rustc-link-search=native={}", folder);
    if !is_static {
        println!("cargo:rustc-link-lib=dylib=attnzoo");
        return Ok(());
    }
    let needed = variable("ATTNZOO_STATIC_LIBS").ok_or(
        "ATTNZOO_LIB_DIR and ATTNZOO_STATIC are set: ATTNZOO_STATIC_LIBS has to name the libraries that libattnzoo.a \
         needs, such as \"openblas m pthread\"",
    )?;
    println!("cargo:rustc-link-lib=static=attnzoo");
    for library in needed.split_whitespace() {
        println!("cargo:rustc-link-lib=dylib={}", library);
    }
    Ok(())
}

fn link_by_pkg_config(is_static: bool) -> Result<(), String> {
    for name in ["PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        variable(name);
    }
    let is_cross = env::var("HOST") != env::var("TARGET");
    let command = match variable("PKG_CONFIG") {
        Some(command) => command,
        None if is_cross => {
            return Err("this is a cross build: set PKG_CONFIG to the target's pkg-config, or ATTNZOO_LIB_DIR".into())
        }
        None => "pkg-config".into(),
    };
    let requirement = format!("attnzoo >= {}", OLDEST_VERSION);
    let mut arguments = vec!["--print-errors", "--libs"];
    if is_static {
        arguments.push("--static");
    }
    arguments.push(&requirement);
    for flag in split_flags(&ask(&command, &arguments)?) {
        print_flag(&flag, is_static);
    }
    let include = ask(&command, &["--variable=includedir", "attnzoo"])?;
    // For the test of the declarations, and as DEP_ATTNZOO_INCLUDE for build scripts of crates that compile C.
    println!("cargo:rustc-env=ATTNZOO_SYS_INCLUDE_DIR={}", include.trim());
    println!("cargo:include={}", include.trim());
    Ok(())
}

fn ask(command: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(command).args(arguments).output().map_err(|error| {
        format!(
            "cannot run {} ({}). Install pkg-config, or set ATTNZOO_LIB_DIR to the folder that holds libattnzoo",
            command, error
        )
    })?;
    if !output.status.success() {
        return Err(format!(
            "{} does not find the library:\n{}\nInstall libattnzoo with its headers, or set PKG_CONFIG_PATH to the \
             folder that holds attnzoo.pc, or ATTNZOO_LIB_DIR to the one that holds the library",
            command,
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} printed something that is not UTF-8", command))
}

/// Splits what pkg-config prints at blanks, but not at those that a backslash protects.
fn split_flags(text: &str) -> Vec<String> {
    let mut flags = Vec::new();
    let mut flag = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => flag.extend(characters.next()),
            blank if blank.is_whitespace() => {
                if !flag.is_empty() {
                    flags.push(std::mem::take(&mut flag));
                }
            }
            other => flag.push(other),
        }
    }
    if !flag.is_empty() {
        flags.push(flag);
    }
    flags
}

fn print_flag(flag: &str, is_static: bool) {
    if let Some(folder) = flag.strip_prefix("-L") {
        println!("cargo:rustc-link-search=native={}", folder);
    } else if let Some(library) = flag.strip_prefix("-l") {
        let kind = if is_static && library == "attnzoo" { "static" } else { "dylib" };
        println!("cargo:rustc-link-lib={}={}", kind, library);
    } else if flag == "-pthread" {
        println!("cargo:rustc-link-lib=dylib=pthread");
    } else if !flag.is_empty() {
        // cargo takes other linker arguments from a library's build script for that package's own tests alone.
        println!("cargo:warning=attnzoo-sys: pkg-config's flag {} is left out", flag);
    }
}
