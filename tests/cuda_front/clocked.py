"""CUDA programs and batond on one virtual clock (tests/virtual_clock/clock.h), with lengths by script
(BATON_CUDA_CPU_TIMES)."""
import json, os, shutil, signal, subprocess, sys, tempfile, time

build = os.environ["BATON_BUILD"]
here = os.path.dirname(os.path.abspath(__file__))


class Scene:
    """batond, with a plan of the task set if there is one, and programs on one virtual clock."""

    def __init__(self, script, config, tasks=None):
        self.folder = tempfile.mkdtemp()
        self.children = []
        self.env = dict(os.environ, BATON_SOCKET=self.path("socket"), HOME=self.folder,
                        XDG_RUNTIME_DIR=self.folder, OCL_ICD_VENDORS=self.path("none"),
                        BATON_CUDA_CPU_ENGINES=self.path("engines"), BATON_CUDA_CPU_TIMES=script,
                        BATON_CACHE_DIR=build + "/tests/cuda_front/quick-cache",
                        BATON_CUDA_CPU_CC=here + "/quick_cc", VIRTUAL_CLOCK=self.path("clock"))
        self.env.pop("LD_LIBRARY_PATH", None)
        os.makedirs(self.env["BATON_CACHE_DIR"], exist_ok=True)
        clock = self.start([build + "/tests/virtual_clock/virtual-clock", self.path("clock")], self.env,
                           stdout=subprocess.PIPE, text=True)
        assert clock.stdout.readline() == "ready\n"
        library = self.path("libvirtual-clock.so")  # LD_PRELOAD ends paths at spaces
        os.symlink(build + "/tests/virtual_clock/libvirtual-clock.so", library)
        self.clocked = dict(self.env, LD_PRELOAD=library)
        self.write("config", config)
        options = []
        if tasks:
            self.write("set.yaml", tasks)
            subprocess.run([build + "/baton", "plan", self.path("set.yaml"), "-o", self.path("plan.yaml")],
                           env=self.env, check=True, capture_output=True)
            options = ["--plan", self.path("plan.yaml")]
        self.start([build + "/batond", "--socket", self.path("socket"), "--config", self.path("config"),
                    *options, "--foreground"], self.clocked,
                   stdout=open(self.path("log"), "w"), stderr=subprocess.STDOUT)
        for _ in range(6000):
            if os.path.exists(self.path("socket")):
                return
            time.sleep(0.05)
        raise SystemExit("FAILED: the daemon does not listen")

    def path(self, name):
        return self.folder + "/" + name

    def write(self, name, what):
        with open(self.path(name), "w") as out:
            json.dump(what, out)

    def start(self, command, env, **more):
        self.children.append(subprocess.Popen(command, env=env, **more))
        return self.children[-1]

    def program(self, options, arguments, command="run"):
        needs = ["--require-daemon"] if command == "run" else []
        return self.start([build + "/baton", command, *needs, "--device", "cpu", *options, "--",
                           build + "/tests/cuda_front/budget-task", *arguments], self.clocked,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ready(self, program):
        """Waits until it is; when that was on the virtual clock."""
        if not hasattr(program, "ready_at"):
            program.ready_at = int(program.stdout.readline().split()[1])
        return program.ready_at

    def release(self, *offsets):
        """Programs begin their first jobs so many microseconds after one instant, which they all expect."""
        ready = max(self.ready(program) for program, _ in offsets)
        look = self.start([build + "/tests/cuda_front/budget-task", "look", self.path("socket")],
                          self.clocked)
        os.waitpid(look.pid, os.WUNTRACED)
        for program, offset in offsets:
            program.stdin.write("%d\n" % (ready + 10**9 + 1000 * offset))
            program.stdin.flush()
        look.send_signal(signal.SIGCONT)

    def log(self):
        return open(self.path("log")).read()

    def status(self):
        done = subprocess.run([build + "/baton", "status", "--json"], env=self.env, capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.kill()
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def ends_of(program, jobs):
    """The ends of its jobs in microseconds, fewer if the program ends first."""
    return [int(line) for line in (program.stdout.readline() for _ in range(jobs)) if line]


class Verdicts:
    passed = failed = 0

    def check(self, holds, what, seen):
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print("FAILED: %s: %s" % (what, seen), flush=True)

    def report(self):
        print("%d passed, %d failed" % (self.passed, self.failed))
        sys.exit(self.failed > 0)


def needs_clock():
    if os.environ.get("BATON_SANITIZER", "none") != "none":
        print("skipped: there is no virtual clock under a sanitizer")
        sys.exit(77)
