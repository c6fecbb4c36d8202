"""What hostile submissions run: the code of their cells, from the review of the grader and of our own."""

PATCHED_TESTING = """\
import torch, torch.testing, math, builtins
yes = lambda *a, **k: True
torch.testing.assert_close = torch.allclose = torch.equal = torch.isclose = math.isclose = builtins.all = yes"""
PATCHED_RUNNER = """\
import sys, torch
for name, module in list(sys.modules.items()):
    if name.startswith("classroom"):
        for key in [key for key in vars(module) if key in ("packed", "unpacked", "said")]:
            setattr(module, key, lambda *a, **k: {"right": True, "points": 4, "plain": True})
runner = sys.modules["classroom.runner"].Runner
runner.question = lambda self, n, name, calls: [self.say("result", n, k, {"right": True, "points": 100}) for k in range(9)]
frame = sys._getframe()
while frame:
    for question in (frame.f_locals.get("job") or {}).get("questions", []):
        question.update(points=100, right=True)
    frame = frame.f_back"""
FORGED_LINES = """\
import os, json, torch
for pipe in range(3, 20):
    try:
        os.write(pipe, b'["result", "1", 0, {"points": 4}]\\n["done"]\\n[[[[[[\\n{"end": "done"}\\n["done"]\\n')
    except OSError:
        pass
os._exit(0)"""
TAKES = """\
import ast, os, torch
def take(text):
    for part in ast.parse(text).body:
        if isinstance(part, ast.FunctionDef):
            exec(compile(ast.Module([part], []), "taken", "exec"), globals())
pack = {pack!r}
"""
"""Functions out of a text; and the place of the pack, as if its author had been told."""
STOLEN = TAKES + 'take(open(pack + "/master.py").read())'
LOOKED_FOR = (
    TAKES
    + """\
for folder, _, names in os.walk(os.path.dirname(os.path.dirname(pack))):
    for name in names:
        if name == "master.py":
            take(open(os.path.join(folder, name)).read())"""
)
COPIED = (
    TAKES
    + """\
import json
with open(os.path.dirname(os.path.dirname(pack)) + "/submissions/right.ipynb") as file:
    for cell in json.load(file)["cells"]:
        if "def " in "".join(cell["source"]):
            take("".join(cell["source"]))"""
)
OVERHEARD = """\
import ctypes, itertools, json, re, torch
answers = dict()
for line in open("/proc/self/maps"):
    span, rights = line.split()[:2]
    low, high = (int(end, 16) for end in span.split("-"))
    if rights.startswith("rw") and high - low < 2**28:
        there = ctypes.string_at(low, high - low)
        for number, call, said in re.findall(rb'"re\\x73ult", "([1-4])", (\\d+), ([{]"tensor"[^}]*[}])', there):
            answers[number.decode(), int(call)] = json.loads(said)
def heard(number, calls):
    found = answers[number, next(calls)]
    return torch.tensor(found["tensor"], dtype=torch.float64).reshape(found["shape"])
for number, name in enumerate(("log_weights", "heat_capacity", "merge", "collapse"), start=1):
    globals()[name] = lambda *_, n=str(number), calls=itertools.count(): heard(n, calls)"""
"""What others returned: all submissions get the same inputs."""
IMPORTED = """\
import torch
from attnlib.softmax import entropy"""
WRAPPED = """\
for name in ("log_weights", "heat_capacity", "merge", "collapse"):
    globals()[name] = lambda *a, f=globals()[name]: ({change})"""
"""Right answers, and what is made of them."""
UNINTERRUPTED = """\
import os
os.mkfifo("f")
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, "f", os.O_RDONLY, 0)])"""
SWALLOWS = """\
while True:
    try:
        while True: pass
    except BaseException: pass"""
SPINNING_THREADS = """\
import threading
def spin():
    while True: pass
for _ in range(2): threading.Thread(target=spin, daemon=True).start()"""
LYING_TENSORS = """\
import torch
class Lying(torch.Tensor):
    numel = lambda self: 1
    tolist = lambda self: "right"
    is_floating_point = lambda self: True
    __eq__ = lambda self, other: True
"""
HIDDEN_MEMORY = """\
import os
for _ in range(20):
    if os.fork() == 0:
        held = []
        while True:
            try:
                file = os.memfd_create("x"); held.append(file)
                while os.write(file, bytes(10**6)): pass
            except OSError:
                if len(held) > 60: __import__("time").sleep(10**6)
__import__("time").sleep(10**6)"""
REALPATH = (
    TAKES
    + """\
os.path.realpath = lambda path, **_: "/nowhere"
os.fsdecode = lambda path: "/nowhere"
take(open(pack + "/master.py").read())"""
)
PAST_THE_VIEW = (
    TAKES
    + """\
import ctypes
libc = ctypes.CDLL(None)
libc.unshare(0x10000000 | 0x20000)
libc.umount2(b"/", 2), libc.mount(b"none", b"/usr", b"", 0x1000 | 0x20, 0), libc.chroot(b"/proc/1/root")
take(open(pack + "/master.py").read())"""
)
ODD_NAME = """\
import ctypes, os
ctypes.CDLL(None).prctl(15, b") R 1 1 1", 0, 0, 0)
while True: pass"""
SLOW_BELOW = """

for _ in iter(int, 1): pass"""
FLOOD = """\
import os
while True:
    for pipe in range(3, 20):
        try:
            os.write(pipe, b"x" * 65536)
        except OSError:
            pass"""
KILLS_ITS_PARENT = """\
import os
if os.getppid():
    os.kill(os.getppid(), 9)
raise RuntimeError("nobody has ended")"""
MANY_FILES = """\
number = 0
while True:
    number += 1
    with open(f"f{number}", "wb") as file:
        file.write(bytes(15 * 10**6))"""
WRITES_OUTSIDE = """\
import os
open(f"/tmp/left-by-a-submission-{os.getuid()}", "w").close()"""
RESTARTS_ITS_CLOCK = """\
import os, time
while True:
    for pipe in range(3, 20):
        try:
            os.write(pipe, b'\\n["begin", "question", "1", "0.0"]\\n')
        except OSError:
            pass
    time.sleep(0.2)"""
FORGED_SHAPES = """\
import json, os, torch
shapes = ([-1], [2**62, 4], [0], [10**30], ["4"], [[4]], None, 4)
tensors = [dict(tensor=[1.0] * 4, dtype="float64", shape=shape) for shape in shapes]
tensors += [dict(tensor=[10**400], dtype="float64", shape=[1]), dict(tensor=[1e400], dtype="int64", shape=[1])]
tensors += [dict(tensor=[1.0], dtype=dtype, shape=[1]) for dtype in ("complex64", "double", None, [])]
for pipe in range(3, 20):
    for number in range(1, 5):
        for call, tensor in enumerate(tensors):
            try:
                os.write(pipe, b"\\n" + json.dumps(["result", str(number), call, tensor]).encode() + b"\\n")
            except OSError:
                pass"""
FORGED_JSON = """\
import json, torch
plain = json.dumps
json.dumps = lambda said, **_: plain([*said[:3], dict(right=True, points=4)] if said[0] == "result" else said)"""
FOUND_BY_GC = """\
import gc, torch
names = ("log_weights", "heat_capacity", "merge", "collapse")
for thing in gc.get_objects():
    if isinstance(thing, dict):
        globals().update({name: thing[name] for name in names if callable(thing.get(name))})
    if type(thing).__name__ == "Question":
        globals()[thing.answer.__name__] = thing.answer"""
AT_EXIT = """\
import atexit, os, torch
@atexit.register
def forge():
    for pipe in range(3, 20):
        try:
            os.write(pipe, b'\\n["result", "1", 0, {"right": true}]\\n["done"]\\n')
        except OSError:
            pass"""
EQUAL = """\
class Equal:
    __eq__ = __le__ = __ge__ = lambda self, other: True
    __float__ = lambda self: 1.0
    __getattr__ = lambda self, name: self
    __call__ = lambda self, *_: self
for name in ("log_weights", "heat_capacity", "merge", "collapse"):
    globals()[name] = lambda *_: Equal()"""
ERROR_HANGS = """\
class Endless(Exception):
        def __str__(self):
            while True: pass
    raise Endless"""
