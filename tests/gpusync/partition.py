"""The partition of a run on the real clock: one core for devices, one for programs.

The devices' core is isolated: by isolcpus or an isolated cpuset that is there, else by one of its own
(root, cgroups of version 2). Where neither is possible, a stand-in (tests/daemon/stand_in.c) tells batond
that the core is isolated, and the run says so: then other programs may run there. The devices of these
runs are scripted and take no time of their core, so bounds do not rest on it.

Linux's limit on real-time programs is lifted meanwhile, since batond claims no bound under it otherwise.
"""
import os, shutil, tempfile

CGROUPS = "/sys/fs/cgroup"
LIMITS = ["/proc/sys/kernel/sched_rt_runtime_us"] + [
    "%s/%s/cpu.rt_runtime_us" % (CGROUPS, name) for name in ("cpu", "cpu,cpuacct", "cpuacct,cpu")]


class Refused(Exception):
    """Why this machine does not permit a partition."""


def read(path):
    try:
        with open(path) as text:
            return text.read().strip()
    except OSError:
        return ""


def write(path, text):
    with open(path, "w") as out:
        out.write(text)


def cores_in(text):
    """Of "0-1,4" as a set."""
    cores = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1)) if part else set()
    return cores


class Partition:
    def __init__(self, stand_in, programs=None, untouched=False):
        """stand_in: its library; programs: their core, by default the first one; untouched: the stand-in
        takes the place of all that would change the machine."""
        self.undo = []
        folder = tempfile.mkdtemp()  # LD_PRELOAD ends paths at spaces
        self.undo.append(lambda: shutil.rmtree(folder))
        os.symlink(stand_in, folder + "/stand-in.so")
        # the threads that look for disturbances are real-time, too
        self.environment = {"LD_PRELOAD": folder + "/stand-in.so", "BATON_TEST_ALONE": "1"}
        allowed = os.sched_getaffinity(0)
        online = cores_in(read("/sys/devices/system/cpu/online"))
        isolated = online & (cores_in(read("/sys/devices/system/cpu/isolated"))
                             | cores_in(read(CGROUPS + "/cpuset.cpus.isolated")))
        if len(allowed | isolated) < 2 or not allowed - isolated:
            raise Refused("two cores are needed, one for devices and one for programs")
        self.programs = min(allowed - isolated) if programs is None else programs
        if self.programs not in allowed - isolated:
            raise Refused("core %d is isolated or not allowed" % self.programs)
        self.devices = max(isolated or allowed - {self.programs})
        try:
            if isolated:
                self.how = "core %d is isolated" % self.devices
            elif untouched:
                self.stand_in_isolates("the machine is left alone")
            else:
                self.isolate()
            if untouched:
                self.environment["BATON_TEST_RT_RUNTIME"] = "-1"
            else:
                self.lift_limits()
        except Refused:
            self.close()
            raise

    def isolate(self):
        try:
            self.make_cpuset()
            self.how = "core %d is in an isolated cpuset" % self.devices
        except OSError as error:
            self.stand_in_isolates(error)

    def stand_in_isolates(self, why):
        self.environment["BATON_TEST_ISOLATED"] = str(self.devices)
        self.how = ("core %d is NOT isolated (%s): a stand-in tells batond that it is, and other "
                    "programs may run there" % (self.devices, why))

    def make_cpuset(self):
        folder = "%s/baton-devices-%d" % (CGROUPS, os.getpid())
        if "cpuset" not in read(CGROUPS + "/cgroup.controllers").split():
            raise OSError("%s has no cpusets of version 2" % CGROUPS)
        if "cpuset" not in read(CGROUPS + "/cgroup.subtree_control").split():
            write(CGROUPS + "/cgroup.subtree_control", "+cpuset")
            self.undo.append(lambda: write(CGROUPS + "/cgroup.subtree_control", "-cpuset"))
        os.mkdir(folder)
        self.undo.append(lambda: os.rmdir(folder))
        write(folder + "/cpuset.cpus", str(self.devices))
        write(folder + "/cpuset.cpus.partition", "isolated")
        if self.devices not in cores_in(read(CGROUPS + "/cpuset.cpus.isolated")):
            raise OSError("the cpuset is " + read(folder + "/cpuset.cpus.partition"))

    def lift_limits(self):
        for path in LIMITS:
            was = read(path)
            if was in ("", "-1"):
                continue
            try:
                write(path, "-1")
            except OSError as error:
                raise Refused("the limit on real-time programs stays: %s" % error)
            self.undo.append(lambda path=path, was=was: write(path, was))

    def declaration(self):
        return {"partition": {"devices": [self.devices], "programs": [self.programs]}}

    def close(self):
        while self.undo:
            try:
                self.undo.pop()()
            except OSError:
                pass  # another process uses it, too
