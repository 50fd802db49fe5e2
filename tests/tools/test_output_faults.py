#!/usr/bin/env python3
"""Outputs that cannot be written, and runs that are ended in the middle: what was there before stays whole, and no
temporary file stays behind.

    test_output_faults.py PATH/TO/attnzoo [unittest options]

With the one class TestDisks where no file system can be mounted it ends with status 77, by which CTest tells that it
was skipped. Inputs are test_hostile_inputs.py's.
"""
import array
import errno
import fcntl
import io
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import termios
import time
import unittest

import numpy as np

import test_command
from test_command import FailureTest, limit_memory, write_safetensors

NOBODY = 65534
NOT_MOUNTED = "NOT CHECKED: full and read-only disks; no file system can be mounted here"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def no_core():
    """What SIGQUIT would leave behind is the system's, not the command's."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def can_mount():
    try:
        return subprocess.run(["unshare", "-r", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                              capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


class FaultTest(FailureTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        # 160 kB of attention: more than a pipe holds, so that the writing stops in the middle.
        for name in ("long_query", "long_key", "long_value"):
            np.save(self.folder / f"{name}.npy", random.standard_normal((200, 8)).astype(np.float32))
        self.before = self.names()

    def long_words(self, attention, *more):
        return ["run", "scaled_dot_product", "--query", "long_query.npy", "--key", "long_key.npy", "--value",
                "long_value.npy", "--context", "context.npy", "--heatmap", "map.png", "--attention", attention, *more]

    def start(self, words, **options):
        process = subprocess.Popen([test_command.ATTNZOO, *words], cwd=self.folder, preexec_fn=no_core, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, what, process):
        """What the process must come to by itself; it may not end before."""
        while not what():
            self.assertIsNone(process.poll(), "the command ended before it came so far")
            time.sleep(0.005)

    def feed(self, pipe, values):
        whole = io.BytesIO()
        np.save(whole, values)
        with pipe:
            pipe.write(whole.getvalue())

    def make_pipe(self, name):
        os.mkfifo(self.folder / name)
        self.before = sorted([*self.before, name])

    def open_writer(self, name, process):
        """The writing end of a pipe, once the command reads it."""
        found = []

        def is_read():
            try:
                found.append(os.open(self.folder / name, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            return found
        self.wait_for(is_read, process)
        os.set_blocking(found[0], True)
        return os.fdopen(found[0], "wb")

    def temporary_count(self):
        return len([name for name in self.names() if name.startswith(".attnzoo-")])


class TestSignals(FaultTest):
    """The run dies by the signal that it was sent, as WIFSIGNALED() tells its parent."""

    def check_ends_by(self, process, number):
        process.send_signal(number)
        self.assertEqual(process.wait(timeout=60), -number)
        self.check_nothing_happened()

    def test_while_an_input_is_read(self):
        self.make_pipe("bias.npy")
        for number in SIGNALS:
            process = self.start(self.long_words("attention.npy", "--bias", "bias.npy"))
            with self.open_writer("bias.npy", process):
                self.assertEqual(self.temporary_count(), 3)
                self.check_ends_by(process, number)

    def test_while_it_computes(self):
        """Some 4 * 10^9 scores by two threads, of which the signal comes to any."""
        np.save(self.folder / "many.npy", np.ones((65536, 8), np.float32))
        self.make_pipe("bias.npy")
        self.before = self.names()
        for number in SIGNALS:
            process = self.start(["run", "scaled_dot_product", "--query", "many.npy", "--key", "many.npy", "--value",
                                  "many.npy", "--context", "context.npy", "--bias", "bias.npy", "--threads", "2"])
            # The bias is what it reads last.
            self.feed(self.open_writer("bias.npy", process), np.zeros((1, 65536), np.float32))
            used = self.processor_time(process)
            self.wait_for(lambda: self.processor_time(process) > used + 0.1, process)
            self.assertEqual(self.temporary_count(), 1)
            self.check_ends_by(process, number)

    def processor_time(self, process):
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_while_it_opens_an_output(self):
        """A pipe that nobody reads cannot be opened; the context's temporary file is there already."""
        self.make_pipe("pipe")
        for number in SIGNALS:
            process = self.start(self.long_words("pipe"))
            self.wait_for(lambda: self.temporary_count() == 1, process)
            self.check_ends_by(process, number)

    def start_writing(self, **options):
        """A run that has written its context and is in the middle of its attention, which goes into a full pipe."""
        self.make_pipe("pipe")
        reader = os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        process = self.start(self.long_words("pipe"), **options)
        self.wait_for(lambda: self.waiting_bytes(reader) > 0, process)
        # The context is in its temporary file, and the heat map has one that is empty.
        self.assertEqual(self.temporary_count(), 2)
        return process, reader

    def waiting_bytes(self, reader):
        count = array.array("i", [0])
        fcntl.ioctl(reader, termios.FIONREAD, count)
        return count[0]

    def remove_pipe(self):
        (self.folder / "pipe").unlink()
        self.before.remove("pipe")

    def test_while_it_writes(self):
        for number in SIGNALS:
            process, reader = self.start_writing()
            self.check_ends_by(process, number)
            os.close(reader)
            self.remove_pipe()

    def test_reader_that_goes_away(self):
        """SIGPIPE, as other writers end by it; where it is ignored, an error like any other."""
        for restore, status in ((True, -signal.SIGPIPE), (False, 1)):
            process, reader = self.start_writing(restore_signals=restore, stderr=subprocess.PIPE, text=True)
            os.close(reader)
            _, complaint = process.communicate(timeout=60)
            self.assertEqual(process.returncode, status)
            self.assertEqual(complaint, "attnzoo: pipe: writing: Broken pipe\n" if status == 1 else "")
            self.check_nothing_happened()
            self.remove_pipe()

    def test_ignored_hangup(self):
        """As nohup has it: the run goes on to its end."""
        self.make_pipe("bias.npy")
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = subprocess.Popen([test_command.ATTNZOO, *self.run_words("--bias", "bias.npy")], cwd=self.folder,
                                   preexec_fn=ignore)
        self.addCleanup(process.kill)
        pipe = self.open_writer("bias.npy", process)
        process.send_signal(signal.SIGHUP)
        self.feed(pipe, np.zeros((3, 5), np.float32))
        self.assertEqual(process.wait(timeout=60), 0)
        self.assert_close(self.load("context.npy"), self.expected()[0])


class TestLimits(FaultTest):
    def write_weights(self):
        names = ("query_proj.weight", "key_proj.weight", "value_proj.weight", "out_proj.weight")
        weight = np.eye(8, dtype=np.float32)
        write_safetensors(self.folder / "w.safetensors", {name: ("F32", weight) for name in names})

    def test_every_size_at_which_the_disk_may_fill(self):
        """Four outputs, the state among them: none changes before all are whole."""
        self.write_weights()
        self.outputs = (*self.outputs, "state.safetensors")
        (self.folder / "state.safetensors").write_text("old")
        words = ["run", "multi_head", "--query", "long_query.npy", "--key", "long_key.npy", "--value", "long_value.npy",
                 "--weights", "w.safetensors", "--set", "num_heads=2", "--context", "context.npy", "--state-out",
                 "state.safetensors"]
        more = ["--attention", "attention.npy", "--heatmap", "map.png"]
        self.before = self.names()
        context, attention = 128 + 200 * 8 * 4, 128 + 2 * 200 * 200 * 4
        for size, given, part in (*((size, more, "context.npy") for size in (0, 1, 127, 128, 129, context - 1)),
                                  (context, more, "attention.npy"), (attention - 1, more, "attention.npy"),
                                  (context, [], "state.safetensors"), (12900, [], "state.safetensors")):
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            done = self.call(*words, *given, preexec_fn=limit)
            self.check_failure(done, 1, f"attnzoo: {part}: writing: File too large")
            self.check_nothing_happened()
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (attention, attention))
        done = self.call(*words, *more, preexec_fn=limit)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "attention.npy").stat().st_size, attention)
        self.assertEqual(self.names(), self.before)

    def test_no_more_open_files(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
        self.check_failure(self.call(*self.long_words("attention.npy"), preexec_fn=limit), 1, "Too many open files")
        self.check_nothing_happened()

    def test_no_more_memory(self):
        """Attention of 4 TiB: one line, and the old files."""
        if not limit_memory():
            self.skipTest("NOT CHECKED: a sanitizer has its own words where memory is refused")
        np.save(self.folder / "long.npy", np.zeros((1 << 20, 1), np.float32))
        self.before = self.names()
        done = self.call("run", "scaled_dot_product", "--query", "long.npy", "--key", "long.npy", "--value", "long.npy",
                         "--context", "context.npy", "--attention", "attention.npy", **limit_memory())
        self.check_failure(done, 1, "attnzoo: attention: not enough memory")
        self.check_nothing_happened()


class TestPlaces(FaultTest):
    """Where an output is to go."""

    def as_nobody(self):
        """Options by which a run may write nowhere but where everybody may; root would be stopped by no permission."""
        if os.geteuid() != 0:
            return {}
        self.folder.chmod(0o755)
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        try:
            subprocess.run([test_command.ATTNZOO, "--version"], capture_output=True, check=True, **options)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"NOT CHECKED: the command cannot be run as another user than root: {error}")
        return options

    def test_read_only_folder(self):
        options = self.as_nobody()
        (self.folder / "locked").mkdir()
        (self.folder / "locked" / "context.npy").write_text("old")
        (self.folder / "locked" / "context.npy").chmod(0o666)
        (self.folder / "locked").chmod(0o555)
        self.addCleanup((self.folder / "locked").chmod, 0o755)
        for name in ("locked/context.npy", "locked/new.npy"):
            done = self.call(*self.run_words(context=name), **options)
            self.check_failure(done, 1, f"{name}: Permission denied")
        self.assertEqual(os.listdir(self.folder / "locked"), ["context.npy"])
        self.assertEqual((self.folder / "locked" / "context.npy").read_text(), "old")

    def test_full_device(self):
        """/dev/full itself, which another user than root could not replace by a file if the command tried."""
        done = self.call(*self.run_words(context="/dev/full"), **self.as_nobody())
        self.check_failure(done, 1, "/dev/full: writing: No space left on device")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_null_device(self):
        done = self.call(*self.run_words(context="/dev/null"), **self.as_nobody())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_places_where_nothing_can_be_made(self):
        (self.folder / "there").mkdir()
        for name, part in (("/proc/context.npy", "/proc/context.npy: "), ("/proc/version", "/proc/version: "),
                           ("query.npy/context.npy", "query.npy/context.npy: Not a directory"),
                           ("missing/context.npy", "missing/context.npy: No such file or directory"),
                           ("there", "there: Is a directory"), ("there/", "there/: Is a directory"),
                           ("there/.", "there/.: Is a directory"), ("", ": No such file"),
                           ("x" * 300, ": File name too long")):
            self.before = self.names()
            done = self.call(*self.run_words("--attention", "attention.npy", context=name))
            self.check_failure(done, 1, part)
            self.check_nothing_happened()

    def test_links(self):
        """The link stays and what it leads to is replaced; where it leads nowhere that can be, nothing is."""
        (self.folder / "there").mkdir()
        (self.folder / "there" / "real.npy").write_text("old")
        for name, target in (("one.npy", "there/real.npy"), ("two.npy", "one.npy"), ("loop.npy", "pool.npy"),
                             ("pool.npy", "loop.npy"), ("self.npy", "self.npy"), ("astray.npy", "missing/real.npy"),
                             ("folder.npy", "there"), ("sub", "there"), ("three.npy", "sub/fresh.npy")):
            (self.folder / name).symlink_to(target)
        before = self.names()
        for name in ("loop.npy", "self.npy"):
            self.check_failure(self.call(*self.run_words(context=name)), 1, f"{name}: Too many levels of symbolic")
        self.check_failure(self.call(*self.run_words(context="astray.npy")), 1, "astray.npy: No such file")
        self.check_failure(self.call(*self.run_words(context="folder.npy")), 1, "folder.npy: Is a directory")
        self.assertEqual((self.folder / "there" / "real.npy").read_text(), "old")
        for name, real in (("one.npy", "real.npy"), ("two.npy", "real.npy"), ("three.npy", "fresh.npy")):
            done = self.call(*self.run_words(context=name))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assert_close(np.load(self.folder / "there" / real), self.expected()[0])
            self.assertFalse((self.folder / "there" / real).is_symlink())
            (self.folder / "there" / real).write_text("old")
        self.assertEqual(self.names(), before)
        self.assertTrue(all((self.folder / name).is_symlink() for name in ("one.npy", "two.npy", "three.npy")))
        self.assertEqual(sorted(os.listdir(self.folder / "there")), ["fresh.npy", "real.npy"])

    def run_while(self, change, context):
        """A run whose surroundings change once its outputs are open."""
        self.make_pipe("bias.npy")
        process = self.start(self.run_words("--bias", "bias.npy", context=context), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        pipe = self.open_writer("bias.npy", process)
        change()
        self.feed(pipe, np.zeros((3, 5), np.float32))
        written, complaint = process.communicate(timeout=60)
        return subprocess.CompletedProcess([], process.returncode, written, complaint)

    def test_folder_that_is_removed_in_the_middle(self):
        (self.folder / "there").mkdir()
        done = self.run_while(lambda: shutil.rmtree(self.folder / "there"), "there/context.npy")
        self.check_failure(done, 1, "there/context.npy: No such file or directory")
        self.assertFalse((self.folder / "there").exists())

    def test_target_that_becomes_a_folder_in_the_middle(self):
        (self.folder / "there").mkdir()
        done = self.run_while(lambda: (self.folder / "there" / "new.npy").mkdir(), "there/new.npy")
        self.check_failure(done, 1, "there/new.npy: Is a directory")
        self.assertEqual(os.listdir(self.folder / "there"), ["new.npy"])
        self.assertTrue((self.folder / "there" / "new.npy").is_dir())


class TestTwoRuns(FaultTest):
    """Runs that write the same output at once: it is that of one of them, whole."""

    def test_in_turn(self):
        for name in ("first", "second"):
            self.make_pipe(f"{name}.fifo")
        biases = {name: np.full((3, 5), -np.inf, np.float32) for name in ("first", "second")}
        biases["first"][:, 0] = biases["second"][:, 4] = 0
        runs = {name: self.start(self.run_words("--bias", f"{name}.fifo")) for name in biases}
        pipes = {name: self.open_writer(f"{name}.fifo", runs[name]) for name in biases}
        self.assertEqual(self.temporary_count(), 2)
        for name, key in (("second", 4), ("first", 0)):
            self.feed(pipes[name], biases[name])
            self.assertEqual(runs[name].wait(timeout=60), 0)
            self.assert_close(self.load("context.npy"), np.broadcast_to(self.grouped("value")[:, :, key:key + 1],
                                                                        (2, 4, 3, 6)))
        self.assertEqual(self.names(), self.before)

    def test_at_once(self):
        wanted = set()
        for scale in range(1, 9):
            self.run_well("--set", f"scale={scale}")
            wanted.add((self.folder / "context.npy").read_bytes())
        self.assertEqual(len(wanted), 8)
        (self.folder / "context.npy").write_text("old")
        for _ in range(5):
            runs = [self.start(self.run_words("--set", f"scale={scale}")) for scale in range(1, 9)]
            # At no time is there anything but one of the whole files.
            while any(run.poll() is None for run in runs):
                self.assertIn((self.folder / "context.npy").read_bytes(), wanted | {b"old"})
            self.assertEqual([run.returncode for run in runs], [0] * 8)
            self.assertIn((self.folder / "context.npy").read_bytes(), wanted)
            self.assertEqual(self.names(), self.before)


class TestDisks(FaultTest):
    """A disk that is full or read-only, mounted for one run alone, in a namespace of its own."""

    @classmethod
    def setUpClass(cls):
        if not can_mount():
            raise unittest.SkipTest(NOT_MOUNTED)

    def run_on_disk(self, options, before, words):
        """Status and complaint of a run, and what then lies on the disk."""
        script = (f"mount -t tmpfs -o {options} tmpfs disk && printf old >disk/context.npy || exit 99\n"
                  f"{before} || exit 98\n"
                  '"$@" >out 2>err; echo $? >status; ls -A disk >list; cat disk/context.npy >content; umount disk')
        (self.folder / "disk").mkdir()
        done = subprocess.run(["unshare", "-r", "-m", "sh", "-c", script, "sh", test_command.ATTNZOO, *words],
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = lambda name: (self.folder / name).read_text()
        self.check_failure(subprocess.CompletedProcess([], int(read("status")), read("out"), read("err")), 1, "")
        self.assertEqual((read("list"), read("content")), ("context.npy\n", "old"))
        return read("err")

    def test_full_disk(self):
        words = self.long_words("disk/attention.npy")
        words[words.index("context.npy")] = "disk/context.npy"
        complaint = self.run_on_disk("size=64k", "true", words)
        self.assertEqual(complaint, "attnzoo: disk/attention.npy: writing: No space left on device\n")
        # The output that had its room elsewhere has not changed either.
        self.assertEqual((self.folder / "map.png").read_text(), "old")

    def test_disk_without_room_for_a_name(self):
        complaint = self.run_on_disk("nr_inodes=2", "true", self.run_words(context="disk/context.npy"))
        self.assertEqual(complaint, "attnzoo: disk/context.npy: No space left on device\n")

    def test_read_only_disk(self):
        complaint = self.run_on_disk("size=1m", "mount -o remount,bind,ro disk", self.run_words(context="disk/context.npy"))
        self.assertEqual(complaint, "attnzoo: disk/context.npy: Read-only file system\n")


if __name__ == "__main__":
    test_command.ATTNZOO = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if sys.argv[1:] == ["TestDisks"] and not can_mount():
        print(NOT_MOUNTED)
        sys.exit(77)
    unittest.main()
