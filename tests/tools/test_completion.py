#!/usr/bin/env python3
"""Completes command lines in bash, zsh and fish, with the files in tools/completion, as far as these shells are there.

    test_completion.py PATH/TO/attnzoo [unittest options]

With the one class of a shell that is not installed it ends with status 77, by which CTest tells that it was skipped.
In every shell the same is asked of the same lines. Whatever shell is missing, its file is held to the help in words.
"""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ATTNZOO = None
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "completion"
COMMANDS = ("list", "describe", "run", "compare", "glimpse", "help")


class CompletionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attnzoo-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "attnzoo").symlink_to(ATTNZOO)
        self.files = self.folder / "files"
        self.files.mkdir()
        for name in ("a.npy", "b.safetensors", "c.png", "d.txt"):
            (self.files / name).touch()
        (self.files / "inner").mkdir()
        # Nothing of the user's own is read or written.
        self.environment = dict(os.environ, PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", HOME=str(self.folder),
                                TERM="xterm", LC_ALL="C.UTF-8")
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "ZDOTDIR", "BASH_ENV", "ENV", "FPATH"):
            self.environment.pop(name, None)

    def told(self, *words):
        return subprocess.run([ATTNZOO, *words], check=True, capture_output=True, text=True).stdout

    def mechanisms(self):
        return {line.split()[0] for line in self.told("list").splitlines()}

    def options_of(self, command):
        return set(re.findall(r"^  (--[a-z-]+)", self.told(command, "--help"), re.MULTILINE))


class Lines:
    """What is asked of each shell. complete(line) gives the set of whole words that the last word may become."""
    def check(self, line, wanted):
        self.assertEqual(self.complete(line), set(wanted), line)

    def test_commands(self):
        self.check("attnzoo ", COMMANDS + self.also_first)
        self.check("attnzoo d", ["describe"])
        self.check("attnzoo --v", ["--version"])
        self.check("attnzoo help ", COMMANDS[:-1])

    def test_mechanisms(self):
        self.check("attnzoo run ", self.mechanisms())
        self.check("attnzoo describe mul", ["multi_head"])
        self.check("attnzoo run --causal a", ["additive"])

    def test_options_are_those_of_the_help(self):
        self.check("attnzoo run multi_head --", self.options_of("run"))
        self.check("attnzoo compare --", self.options_of("compare"))
        self.check("attnzoo list --", self.options_of("list"))
        self.check("attnzoo glimpse text --", self.options_of("glimpse"))
        self.check("attnzoo run multi_head --key-", ["--key-lengths", "--key-labels"])

    def test_words(self):
        self.check("attnzoo run multi_head --align ", ["bottom-right", "top-left", "lengths"])
        self.check("attnzoo run multi_head --rename p", ["pytorch"])

    def test_glimpses(self):
        self.check("attnzoo glimpse ", ["text", "image", "audio", "draw"])
        self.check("attnzoo glimpse draw ", ["c.png", "inner/"])
        self.check("attnzoo glimpse text d", ["d.txt"])
        self.check("attnzoo glimpse image --edge ", ["drop", "pad"])
        self.check("attnzoo glimpse text --other z", ["zero"])
        self.check("attnzoo glimpse draw --attention ", ["a.npy", "b.safetensors", "inner/"])

    def test_settings(self):
        self.check("attnzoo run multi_head --set av", self.bool_setting)
        self.check("attnzoo run multi_head --set average_heads=", ["average_heads=true", "average_heads=false"])
        self.check("attnzoo run --causal location_aware --set feedback=",
                   ["feedback=previous", "feedback=cumulative", "feedback=both"])
        self.check("attnzoo run location_aware --set sh", ["sharpening="])

    def test_inputs_and_outputs(self):
        self.check("attnzoo run scaled_dot_product --output ", ["context=", "attention=", "log_sum_exp="])
        self.check("attnzoo run --causal relative_multi_head --input p", ["position="])
        self.check("attnzoo run multi_head --input query=", [f"query={name}" for name in ("a.npy", "b.safetensors",
                                                                                         "inner/")])
        self.check("attnzoo run multi_head --output attention=", ["attention=a.npy", "attention=inner/"])

    def test_files(self):
        arrays = ["a.npy", "b.safetensors", "inner/"]
        self.check("attnzoo run multi_head --query ", arrays)
        self.check("attnzoo compare ", arrays)
        self.check("attnzoo list ", arrays)
        self.check("attnzoo compare a.npy b", ["b.safetensors"])
        self.check("attnzoo run multi_head --weights ", ["b.safetensors", "inner/"])
        self.check("attnzoo run multi_head --heatmap ", ["c.png", "inner/"])
        self.check("attnzoo run multi_head --key-labels ", [*arrays, "c.png", "d.txt"])


@unittest.skipUnless(shutil.which("bash"), "bash is not installed")
class TestBash(Lines, CompletionTest):
    also_first = ("--version", "--help")
    bool_setting = ["average_heads="]
    script = r"""
        source "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        read -ra COMP_WORDS <<<"$2"
        attnzoo=attnzoo
        [[ $(complete -p attnzoo) == "complete -F _attnzoo attnzoo" ]] || exit 3
        _attnzoo attnzoo
        for word in "${COMPREPLY[@]}"; do
            [[ -d $word ]] && word+=/
            printf '%s\n' "$word"
        done"""

    def complete(self, line, setting="", shell=("--norc", "--noprofile", "-c")):
        done = subprocess.run(["bash", *shell, setting + self.script, "bash", str(FOLDER / "attnzoo.bash"), line],
                              cwd=self.files, env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        # bash puts what is offered behind the last equals sign.
        last = "" if line.endswith(" ") else line.split()[-1]
        before = last[:last.rfind("=") + 1] if not setting else ""
        return {before + word for word in done.stdout.splitlines()}

    def test_values_behind_equals_signs(self):
        self.check("attnzoo run multi_head --align=t", ["--align=top-left"])
        self.check("attnzoo run multi_head --set=average_heads=t", ["--set=average_heads=true"])
        self.check("attnzoo run multi_head --heatmap=", ["--heatmap=c.png", "--heatmap=inner/"])

    def test_equals_signs_that_break_no_words(self):
        complete = lambda line: self.complete(line, setting="COMP_WORDBREAKS=${COMP_WORDBREAKS//=}\n")
        self.assertEqual(complete("attnzoo run multi_head --align=t"), {"--align=top-left"})
        self.assertEqual(complete("attnzoo run multi_head --set average_heads=t"), {"average_heads=true"})

    def complete_in(self, typed, start="", keys="\t"):
        """What stands on the line of a shell that was typed into, the keys last of all."""
        found = self.folder / "line"
        found.unlink(missing_ok=True)
        rest = r"""
            unset HISTFILE; PS1= PS2=
            note() { printf '%s' "$READLINE_LINE" >"$FOUND.part"; mv "$FOUND.part" "$FOUND"; }
            bind 'set enable-bracketed-paste off'; bind -x '"\C-x\C-f": note'"""
        (self.folder / "start.bash").write_text(f"{start}\nsource '{FOLDER / 'attnzoo.bash'}'\n{rest}\n")
        control, terminal = pty.openpty()
        shell = subprocess.Popen(["bash", "--noprofile", "--rcfile", str(self.folder / "start.bash"), "-i"],
                                 stdin=terminal, stdout=terminal, stderr=terminal, cwd=self.files,
                                 env=dict(self.environment, FOUND=str(found)), start_new_session=True)
        os.close(terminal)
        try:
            os.write(control, (typed + keys).encode() + b"\x18\x06")
            end = time.monotonic() + 60
            while not found.exists():
                self.assertLess(time.monotonic(), end, "bash does not answer")
                if select.select([control], [], [], 0.05)[0]:
                    os.read(control, 65536)
        finally:
            shell.kill()
            shell.wait()
            os.close(control)
        return found.read_text()

    def make_odd_names(self):
        for name in ("lr=0.1/context.npy", "lr=0.1/deep/x.npy", "co:lon.npy", "a b.npy", "my data/one.npy",
                     "my data/sub/x.npy", "it's.npy", "$HOME.npy", "`touch evil`/x.npy", "zz$(touch evil)/x.npy",
                     "q[1]*.npy", "first\nsecond.npy"):
            (self.files / name).parent.mkdir(exist_ok=True, parents=True)
            (self.files / name).touch()

    def check_lines(self, start=""):
        self.make_odd_names()
        for typed, wanted in (
                ("compare lr=0.1/c", "compare lr=0.1/context.npy "),
                ("compare lr=0.1/d", "compare lr=0.1/deep/"),
                (r"compare lr\=0.1/c", r"compare lr\=0.1/context.npy "),
                ("compare lr", r"compare lr\=0.1/"),
                ("compare co:l", "compare co:lon.npy "),
                ("run multi_head --query=lr=0.1/c", "run multi_head --query=lr=0.1/context.npy "),
                ("run multi_head --query=co:l", "run multi_head --query=co:lon.npy "),
                ("run multi_head --query=my", r"run multi_head --query=my\ data/"),
                (r"run multi_head --query a\ ", r"run multi_head --query a\ b.npy "),
                (r"compare my\ data/o", r"compare my\ data/one.npy "),
                ('compare "my data/o', 'compare "my data/one.npy" '),
                ("compare 'my data/o", "compare 'my data/one.npy' "),
                ('compare "my data/s', 'compare "my data/sub"/'),
                ('compare "my data"/o', r"compare my\ data/one.npy "),
                ('compare "lr=0.1/c', 'compare "lr=0.1/context.npy" '),
                ('run multi_head --query="my data/o', 'run multi_head --query="my data/one.npy" '),
                (r"run multi_head --query 'a b.npy' --key a\ ", r"run multi_head --query 'a b.npy' --key a\ b.npy "),
                (r"compare it", r"compare it\'s.npy "),
                (r"compare q\[", r"compare q\[1\]\*.npy "),
                (r"compare \$H", r"compare \$HOME.npy "),
                ("compare '$H", "compare '$HOME.npy' "),
                ("compare $HOME/f", f"compare {self.folder}/files/"),
                ("compare ${HOME}/files/in", f"compare {self.folder}/files/inner/"),
                ('compare "$HOME/fil', f'compare "{self.folder}/files/'),
                ("compare ~/fil", f"compare {self.folder}/files/"),
                ("compare fir", "compare fir"),
                ("compare sec", "compare sec"),
                ("compare zz", r"compare zz\$\(touch\ evil\)/"),
                ("compare $(touch evil)/", "compare $(touch evil)/"),
                ('compare "`touch evil`/', 'compare "\\`touch evil\\`/x.npy" '),
                (r"compare \`touch\ evil\`/", r"compare \`touch\ evil\`/x.npy "),
                ("run multi_head --al", "run multi_head --ali"),
                ("run multi_head --align=t", "run multi_head --align=top-left "),
                ("run multi_head --set average_heads=t", "run multi_head --set average_heads=true ")):
            with self.subTest(typed):
                self.assertEqual(self.complete_in(f"attnzoo {typed}", start), f"attnzoo {wanted}")
        self.assertFalse((self.files / "evil").exists(), "a file name was evaluated")

    def test_lines(self):
        self.check_lines()

    @unittest.skipUnless(os.path.exists("/usr/share/bash-completion/bash_completion"), "bash-completion is missing")
    def test_lines_with_bash_completion(self):
        self.check_lines("source /usr/share/bash-completion/bash_completion")

    def test_lines_where_equals_signs_and_colons_break_no_words(self):
        self.make_odd_names()
        start = "COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]}"
        for typed, wanted in (("compare lr=0.1/d", "compare lr=0.1/deep/"), ("compare co:l", "compare co:lon.npy "),
                              ("run multi_head --query=in", "run multi_head --query=inner/"),
                              ("run multi_head --query=lr=0.1/c", "run multi_head --query=lr=0.1/context.npy ")):
            line = self.complete_in(f"attnzoo {typed}", start)
            # What breaks no words needs no backslash, but may have one.
            self.assertEqual(line.replace("\\", ""), f"attnzoo {wanted}")

    def test_options_of_the_shell(self):
        """Neither the user's globs nor the case are in the way."""
        for start in ("set -f", "shopt -s failglob", "GLOBIGNORE='*'", "shopt -s nullglob; IFS=a"):
            self.assertEqual(self.complete_in("attnzoo compare b", start), "attnzoo compare b.safetensors ", start)
        self.assertEqual(self.complete_in("attnzoo compare B", "bind 'set completion-ignore-case on'"),
                         "attnzoo compare b.safetensors ")
        (self.files / ".hidden.npy").touch()
        self.assertEqual(self.complete_in("attnzoo compare .h"), "attnzoo compare .hidden.npy ")

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shellcheck(self):
        subprocess.run(["shellcheck", str(FOLDER / "attnzoo.bash")], check=True)


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class TestFish(Lines, CompletionTest):
    also_first = ()
    bool_setting = ["average_heads=true", "average_heads=false"]

    def complete(self, line):
        script = f"source {FOLDER / 'attnzoo.fish'}; complete -C '{line}'"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.files, env=self.environment,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return {offer.split("\t")[0] for offer in done.stdout.splitlines()}

    def test_names_of_two_lines_are_left_out(self):
        names = ("first\nsecond.npy", "a b.npy", "lr=0.1.npy")
        for name in names:
            (self.files / name).touch()
        arrays = {"a.npy", "b.safetensors", "inner/", *names[1:]}
        for line, folder in (("compare ", ""), ("run multi_head --query ", ""), ("compare ~/files/", "~/files/"),
                             ("run multi_head --context $HOME/files/", "$HOME/files/")):
            found = self.complete(f"attnzoo {line}")
            self.assertLessEqual({folder + name for name in arrays}, found, line)
            if "$" not in folder:
                self.assertFalse({folder + part for part in names[0].split("\n")} & found, line)

    def check(self, line, wanted):
        found = self.complete(line)
        # Of files fish offers those of the ending first, and the others behind them.
        if any(word.endswith(("a.npy", "b.safetensors", "c.png")) for word in wanted):
            self.assertLessEqual(set(wanted), found, line)
        else:
            self.assertEqual(found, set(wanted), line)


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class TestZsh(Lines, CompletionTest):
    also_first = ()
    bool_setting = ["average_heads="]
    # What is offered is written to a file, too: compadd -A tells what of it fits.
    start = r"""
        PS1= PS2= RPS1= PROMPT_SP=; unsetopt prompt_sp zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste
        fpath=(FOLDER $fpath); autoload -Uz compinit; compinit -D -u
        bindkey '^I' complete-word; setopt no_beep no_auto_menu no_auto_list
        zstyle ':completion:*' verbose no
        compadd() {
            local -a hits; local suffix i hit
            if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
            for (( i = 1; i < $#; i++ )); do [[ $@[i] == -S ]] && suffix=$@[i+1]; done
            builtin compadd -A hits "$@"
            for hit in $hits; do
                [[ $suffix == = ]] || { [[ -d $hit ]] && suffix=/ || suffix= }
                print -r -- "<${IPREFIX}$hit$suffix>" >>OFFERS
            done
            builtin compadd "$@"
        }
        finish() { zle .kill-whole-line; print done >>OFFERS }; zle -N finish; bindkey '^X^F' finish
        print ready >>OFFERS
    """

    def wait_for(self, control, offers, word, count=1):
        end = time.monotonic() + 60
        while not offers.exists() or offers.read_text().splitlines().count(word) < count:
            self.assertLess(time.monotonic(), end, "zsh does not answer")
            # What zsh draws is of no interest, but must be read.
            if select.select([control], [], [], 0.05)[0]:
                os.read(control, 65536)
        return offers.read_text()

    def complete(self, line):
        offers = self.folder / "offers"
        offers.unlink(missing_ok=True)
        start = self.folder / "start.zsh"
        start.write_text(self.start.replace("FOLDER", str(FOLDER)).replace("OFFERS", str(offers)))
        control, terminal = pty.openpty()
        shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=terminal, stdout=terminal, stderr=terminal, cwd=self.files,
                                 env=self.environment, start_new_session=True)
        os.close(terminal)
        try:
            os.write(control, f"source {start}\n".encode())
            self.wait_for(control, offers, "ready")
            os.write(control, line.encode() + b"\t\x18\x06")
            text = self.wait_for(control, offers, "done")
        finally:
            shell.kill()
            shell.wait()
            os.close(control)
        return set(re.findall(r"^<(.*)>$", text, re.MULTILINE))

    def check(self, line, wanted):
        self.assertEqual({offer.rstrip("=") if offer.startswith("--") else offer for offer in self.complete(line)},
                         set(wanted), line)


class TestFiles(CompletionTest):
    """The three files have the options of the help, whether or not there is a shell to ask."""
    def of_help(self):
        return {command: self.options_of(command) for command in ("run", "compare", "glimpse")}

    def test_bash(self):
        text = (FOLDER / "attnzoo.bash").read_text(encoding="utf-8")
        for command, options in self.of_help().items():
            function = re.search(rf"^_attnzoo_{command}\(\) {{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)[1]
            offered = re.findall(r'_attnzoo_offer "\$typed" (--(?:\\\n|[^\n])*)', function)[-1]
            self.assertEqual(set(re.findall(r"--[a-z-]+", offered)), options)

    def test_zsh(self):
        text = (FOLDER / "_attnzoo").read_text(encoding="utf-8")
        for command, options in self.of_help().items():
            function = re.search(rf"^_attnzoo_{command}\(\) {{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)[1]
            self.assertEqual(set(re.findall(r"(--[a-z-]+)=?\[", function)), options)

    def test_fish(self):
        text = (FOLDER / "attnzoo.fish").read_text(encoding="utf-8")
        for command, options in self.of_help().items():
            self.assertEqual({"--" + name for name in re.findall(rf"__attnzoo_runs {command}' -l ([a-z-]+)", text)},
                             options)

    def test_readme_says_where_they_are(self):
        """Behind the prefix, which a shell does not know: where they go unless who builds chooses another folder."""
        root = FOLDER.parents[1]
        told = re.findall(r"PREFIX/(share/[\w./-]+)", (root / "README.md").read_text(encoding="utf-8"))
        rules = (root / "tools" / "CMakeLists.txt").read_text(encoding="utf-8").replace("${CMAKE_INSTALL_DATADIR}", "share")
        zsh = re.search(r'set\(ATTNZOO_ZSH_COMPLETION_DIR "(\S+)"', rules)[1]
        installed = {zsh}
        for name, folder, other in re.findall(r"FILES completion/(\S+) DESTINATION (\S+?)(?: RENAME (\w+))?\)", rules):
            if name != "_attnzoo":
                installed.add(f"{folder}/{other or name}")
        self.assertEqual(len(installed), len(list(FOLDER.iterdir())))
        self.assertEqual(set(told), installed)


if __name__ == "__main__":
    ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    asked = [name for name in ("Bash", "Zsh", "Fish") if sys.argv[1:] == [f"Test{name}"]]
    if asked and shutil.which(asked[0].lower()) is None:
        print(f"{asked[0].lower()} is not installed")
        sys.exit(77)
    unittest.main()
