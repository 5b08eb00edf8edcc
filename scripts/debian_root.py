"""Runs a command in a root file system of a Debian release, without access to the network, the services and other files of the machine than given folders.

The root is created once with mmdebstrap, in target/roots, with the packages that scripts/packages lists for `debian-root`. A run does not change it:
changed files are stored in memory until the command exits. The command has separate network, mount and process namespaces. When it exits or is killed,
the kernel kills all of its processes and unmounts everything.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(__file__).resolve().parent
ROOTS = SCRIPTS.parent / "target/roots"
PURPOSE = "debian-root"
TOOLS = ("mmdebstrap", "unshare", "setpriv")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NoRoot(Exception):
    """Raised with the reason if a root cannot be created."""


def _packages():
    lines = [line.split() for line in (SCRIPTS / "packages").read_text().splitlines()]
    return sorted({name for words in lines if words[:1] == [PURPOSE] for name in words[1:]})


def prepare(release):
    """Creates the root of a release if it does not exist or if its list of packages has changed; returns its folder."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise NoRoot(f"{tool} is missing: scripts/install-packages try-shop")
    if os.geteuid() != 0:
        raise NoRoot("a Debian root can only be used by root, because it needs mounts and namespaces")
    root, names = ROOTS / f"{release}-site", ",".join(_packages())
    if (root / "packages").is_file() and (root / "packages").read_text() == names:
        return root
    shutil.rmtree(root, ignore_errors=True)
    ROOTS.mkdir(parents=True, exist_ok=True)
    print(f"debian_root: creating {root} with mmdebstrap", flush=True)
    bootstrap(release, root, _packages())
    (root / "packages").write_text(names)
    return root


def bootstrap(release, target, packages=()):
    """Creates a root file system of a release with these packages: a folder, or an archive if the name of the target has the suffix `.tar`."""
    include = [f"--include={','.join(packages)}"] if packages else []
    command = ["mmdebstrap", "--variant=minbase", *include, release, str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NoRoot(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}")


def run(release, command, readable, writable):
    """Runs a command in the root of a release; returns its exit status. The folders have the same paths in the root.

    A signal to this process is sent to the command, so that it can remove its files.
    """
    root, folder = prepare(release), tempfile.mkdtemp(prefix="debian-root-")
    task = {"root": str(root), "folder": folder, "command": [str(word) for word in command], "binds": [
        *((str(path), "ro") for path in readable), *((str(path), "rw") for path in writable)]}
    # With --pdeathsig and --kill-child, all processes are killed with this one.
    outer = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", sys.executable, __file__, json.dumps(task)]
    child = subprocess.Popen(outer, stdin=subprocess.DEVNULL, start_new_session=True)
    for number in SIGNALS:
        signal.signal(number, lambda received, _frame: os.killpg(child.pid, received))
    try:
        return child.wait()
    finally:
        os.rmdir(folder)


def _mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def _bind(source, target, mode):
    os.makedirs(target, exist_ok=True)
    _mount("--bind", source, target)
    if mode == "ro":
        _mount("-o", "remount,bind,ro", target)


def _assemble(task):
    """Mounts the root with a writable layer in memory, and the folders of the task; returns its path."""
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", task["folder"])
    changed, work, root = (os.path.join(task["folder"], name) for name in ("changed", "work", "root"))
    for path in (changed, work, root):
        os.mkdir(path)
    _mount("-t", "overlay", "overlay", "-o", f"lowerdir={task['root']},upperdir={changed},workdir={work}", root)
    _mount("-t", "proc", "proc", root + "/proc")
    _mount("-t", "sysfs", "-o", "ro", "sysfs", root + "/sys")
    _mount("--rbind", "/dev", root + "/dev")
    pathlib.Path(root, "etc/hosts").write_text("127.0.0.1 localhost\n")
    for path, mode in sorted(task["binds"]):
        _bind(path, root + path, mode)
    return root


def _run_inside(task):
    """Runs the command of a task as the first process of its namespaces, and reaps its orphans; returns its exit status."""
    for number in SIGNALS:  # The command receives them, too.
        signal.signal(number, lambda _number, _frame: None)
    root = _assemble(task)
    subprocess.run(["chroot", root, "ip", "link", "set", "lo", "up"], check=True, env=ENVIRONMENT)
    command = subprocess.Popen(["chroot", root, *task["command"]], env=ENVIRONMENT)
    while True:
        number, status = os.wait()
        if number == command.pid:
            return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    sys.exit(_run_inside(json.loads(sys.argv[1])))
