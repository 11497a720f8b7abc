"""Interpreters that start warm: their processes are forked from one that has imported the large libraries.

An interpreter that imports torch and transformers takes five seconds of a core for that, and the tests start hundreds.
`python` makes a program that takes the place of `sys.executable`: it asks a server for a fork that runs its command
line, with its own environment, folder and files, and ends as that fork ends. A signal reaches the fork, and if the
program is killed, so is the fork. The first such program starts the server, which ends with the tests. The server has
also imported the modules of the toolkit and filled the tables that nearly every process makes, which takes two seconds
of a core; a fork that may find another toolkit on its path forgets them. The fork cannot import matplotlib, whose
pictures take longer than a small build. Where a variable differs that the libraries read when they are imported, or the
interpreter has flags, a real interpreter starts instead.
"""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

# Beginnings of the names of variables that change what the libraries do, and that they read when they are imported.
READ_AT_IMPORT = (
    *("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "TOKENIZERS_", "MKL_", "ATEN_", "ONEDNN_MAX", "DNNL_MAX", "CUDA_"),
    *("OMP_NUM_THREADS", "PYTHONHASHSEED", "LD_"),
)


def python(environment: Mapping[str, str]) -> str:
    """Make the program, for processes with such an environment.

    Returns:
        Its path.
    """
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / "python"
    read = {name: value for name, value in environment.items() if name.startswith(READ_AT_IMPORT)}
    root = str(Path(__file__).parents[1])
    values = {"REAL": sys.executable, "FOLDER": str(folder), "ROOT": root, "READ": read, "PREFIXES": READ_AT_IMPORT}
    values["SERVER"] = SERVER
    assigned = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    program.write_text(f"#!{sys.executable} -IS\n{assigned}OWNER = {os.getpid()}\n{CLIENT}", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


CLIENT = """
import os, sys
arguments = sys.argv[2:] if sys.argv[1:2] == ["-u"] else sys.argv[1:]
same = {n: v for n, v in os.environ.items() if n.startswith(PREFIXES)} == READ
if not same or not arguments or arguments[0] not in ("-c", "-m") and arguments[0].startswith("-"):
    os.execv(REAL, [REAL, *sys.argv[1:]])
import array, json, signal, socket, time
connection = socket.socket(socket.AF_UNIX)
for attempt in range(2400):
    try:
        connection.connect(FOLDER + "/socket")
        break
    except (FileNotFoundError, ConnectionRefusedError):
        if not attempt:
            try:
                os.close(os.open(FOLDER + "/started", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                import subprocess
                command = [REAL, "-c", SERVER, FOLDER, str(OWNER), ROOT]
                plain = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"}  # it may lead to code of one test
                subprocess.Popen(command, stdin=-3, stdout=-3, stderr=-3, cwd="/", env=plain, start_new_session=True)
        time.sleep(0.05)
else:
    sys.exit("wanted the server of warm interpreters, got none after two minutes")
job = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd(), os.getppid()]).encode()
files = array.array("i", [0, 1, 2])
connection.sendmsg([len(job).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
connection.sendall(job)
fork = int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big")
def pass_on(number, frame):
    try:
        os.kill(fork, number)
    except ProcessLookupError:
        pass
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, pass_on)
status = b""
while len(status) < 8:
    part = connection.recv(8 - len(status))
    if not part:
        os._exit(99)
    status += part
code = int.from_bytes(status, "big", signed=True)
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""

SERVER = """
import array, gc, importlib, json, os, pkgutil, signal, socket, sys, tempfile, threading, time, traceback
FOLDER, OWNER, ROOT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
PROGRAM = FOLDER + "/python"
import torch, transformers, datasets, sentence_transformers, peft, accelerate, sacremoses, sklearn.linear_model
import torch.distributed.launcher.api
from transformers import AutoModelForSeq2SeqLM, MarianMTModel, MarianTokenizer, T5ForConditionalGeneration, Trainer
from transformers.conversion_mapping import get_checkpoint_conversion_mapping
sys.modules["matplotlib"] = None  # as where it is not installed
sys.path.insert(0, ROOT)
import builders.commands, pyarrow, toolkit.package.build, toolkit.paraphraser.paraphraser
from toolkit.bitext.languages import main_language
from toolkit.clean._characters import match_lengths
from toolkit.clean.match_keys import match_keys
for module in pkgutil.iter_modules(builders.commands.__path__):
    __import__("builders.commands." + module.name)
get_checkpoint_conversion_mapping("marian")
main_language(["We go home."])
match_keys(pyarrow.array(["\u00e9"]))
match_lengths()
sys.path.remove(ROOT)
gc.collect()
gc.freeze()
listener = socket.socket(socket.AF_UNIX)
listener.bind(FOLDER + "/new")
listener.listen(64)
os.rename(FOLDER + "/new", FOLDER + "/socket")

def run(original, environment, folder, parent, files):
    os.setpgid(0, 0)  # Ray kills the groups of its workers
    unbuffered = original[0] == "-u"
    arguments = original[unbuffered:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    tempfile.tempdir = None
    sys.stdin = open(0, closefd=False)
    for name, number in (("stdout", 1), ("stderr", 2)):
        errors, lines = ("backslashreplace", 1) if number == 2 else (None, -1)
        stream = open(number, "w", lines, closefd=False, errors=errors)
        if unbuffered:
            stream.reconfigure(write_through=True)
        setattr(sys, name, stream)
        setattr(sys, "__" + name + "__", stream)
    os.getppid = lambda: parent
    sys.executable, sys.orig_argv = PROGRAM, [PROGRAM, *original]
    import runpy, types
    own = list(filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)))
    sys.path[:] = [sys.path[0], *own, *sys.path[1:]]
    if any(os.path.isdir(os.path.join(path, "toolkit")) and path != ROOT for path in (os.getcwd(), *own)):
        for name in [name for name in sys.modules if name.partition(".")[0] in ("toolkit", "builders", "scripts")]:
            del sys.modules[name]
    else:
        importlib.reload(toolkit)  # it sets variables
    status = 0
    try:
        if any(os.path.exists(os.path.join(path, "sitecustomize.py")) for path in own):
            sys.modules.pop("sitecustomize", None)
            import sitecustomize
        if arguments[0] == "-c":
            sys.argv, sys.path[0] = ["-c", *arguments[2:]], ""
            sys.modules["__main__"] = main = types.ModuleType("__main__")
            exec(compile(arguments[1], "<string>", "exec"), main.__dict__)
        elif arguments[0] == "-m":
            sys.argv, sys.path[0] = [arguments[1], *arguments[2:]], os.getcwd()
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv, sys.path[0] = arguments, os.path.dirname(os.path.abspath(arguments[0]))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        if status == 1 and not isinstance(ended.code, int):
            print(ended.code, file=sys.stderr)
    except KeyboardInterrupt:
        traceback.print_exc()
        status = -signal.SIGINT
    except BaseException:
        traceback.print_exc()
        status = 1
    try:
        threading._shutdown()
        import atexit
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        pass
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 255)

def watch(connection, fork):
    done = threading.Event()
    def kill_with_client():
        try:
            connection.recv(1)
        except OSError:
            pass
        if not done.is_set():
            try:
                os.kill(fork, signal.SIGKILL)
            except ProcessLookupError:
                pass
    threading.Thread(target=kill_with_client, daemon=True).start()
    status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
    done.set()
    try:
        connection.sendall(status.to_bytes(8, "big", signed=True))
    except OSError:
        pass
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()

def end_with_tests():
    while os.path.exists(f"/proc/{OWNER}"):
        time.sleep(1)
    os._exit(0)

threading.Thread(target=end_with_tests, daemon=True).start()
while True:
    connection, _ = listener.accept()
    head, control, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(12))
    files = array.array("i")
    for _, _, data in control:
        files.frombytes(data)
    size, job = int.from_bytes(head, "big"), b""
    while len(job) < size:
        job += connection.recv(size - len(job))
    fork = os.fork()
    if not fork:
        listener.close()
        connection.close()
        run(*json.loads(job), list(files))
    for file in files:
        os.close(file)
    connection.sendall(fork.to_bytes(8, "big"))
    threading.Thread(target=watch, args=(connection, fork), daemon=True).start()
"""
