#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of faults in docs/collectives-cluster.md:
faults.py BUILD [--rccl FAKE_LIBRARY HIP_RUNTIME CPU_CUDA_FOLDER] [--starts RANKS TIMES].

Starts jobs of BUILD/bin/weir_job by mpirun of Open MPI and MPICH where they are installed, by torchrun's variables over
Gloo, and with --rccl also with the tests' stand-in for RCCL; in each, one rank meets with a fault. Prints what the surviving ranks
say, and after how long. A stand-in says nothing about devices."""
import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import time

RANKS = 4
TIMEOUT = 4000  # of the communicators, in ms


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1] % 20000 + 30000


def run(commands, environments, seconds=60):
    """Runs the processes at once; returns their output, and "HANGS" if they do not end."""
    running = [
        subprocess.Popen(c, env={**os.environ, **e}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for c, e in zip(commands, environments)
    ]
    end = time.time() + seconds
    output = ""
    for process in running:
        try:
            output += process.communicate(timeout=max(1, end - time.time()))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            output += process.communicate()[0] + "\nHANGS\n"
    return output


class OpenMpi:
    name, launcher = "MPI (Open MPI)", "mpirun.openmpi"

    def start(self, job, steps, ranks=RANKS, timeout=TIMEOUT):
        launcher = [self.launcher, "--allow-run-as-root", "--oversubscribe", "--enable-recovery", "-np", str(ranks)]
        return run([launcher + [job, "host", str(timeout)] + steps], [{}], 60 + timeout / 1000)


class Mpich:
    name, launcher = "MPI (MPICH)", "mpiexec.mpich"

    def start(self, job, steps, ranks=RANKS, timeout=TIMEOUT):
        launcher = [self.launcher, "-disable-auto-cleanup", "-np", str(ranks)]
        return run([launcher + [job, "host", str(timeout)] + steps], [{}], 60 + timeout / 1000)


def torchrun_environment(rank, ranks, port):
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost",
            "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "faults", "TORCHELASTIC_RESTART_COUNT": "0"}


class Gloo:
    name, launcher = "Gloo, by torchrun's variables", "sh"

    def start(self, job, steps, ranks=RANKS, timeout=TIMEOUT):
        port = str(free_port())
        ready = [torchrun_environment(r, ranks, port) for r in range(ranks)]
        return run([[job, "host", str(timeout)] + steps] * ranks, ready, 60 + timeout / 1000)


class Rccl:
    name = "RCCL's stand-in, by torchrun's variables"

    def __init__(self, library, runtime, folder):
        self.environment = {
            "WEIR_RCCL": library,
            "WEIR_HIP_RUNTIME": runtime,
            "LD_LIBRARY_PATH": folder,
            "CPU_CUDA_DEVICES": str(RANKS),
            "WEIR_TEST_DRIVER": "alone=1 hang=1",
        }

    def start(self, job, steps, ranks=RANKS, timeout=TIMEOUT):
        port = str(free_port())
        ready = [{**self.environment, **torchrun_environment(r, ranks, port)} for r in range(ranks)]
        return run([[job, "hip", str(timeout)] + steps] * ranks, ready, 60 + timeout / 1000)


# What happens, the steps, and the ms from the beginning of the last step to the fault; whether a stand-in can show it.
CASES = [
    ("`kill -9` of rank 2", ["make", "sleep=2:500", "kill=2", "all_reduce"], 500, True),
    ("rank 2 ends by an exception", ["make", "sleep=2:500", "throw=2", "all_reduce"], 500, True),
    ("rank 2 calls `abort`", ["make", "sleep=2:500", "abort=2", "all_reduce"], 500, True),
    ("rank 0, which keeps the store, is killed", ["make", "sleep=0:500", "kill=0", "all_reduce"], 500, True),
    ("rank 2 is stopped for 30 s (SIGSTOP)", ["make", "stop=2:30", "all_reduce"], 0, False),
    ("rank 2 is slow (2 s)", ["make", "sleep=2:2000", "all_reduce"], 0, False),
    ("rank 2 does not come to a second communicator", ["make", "sleep=2:9000", "make"], 0, True),
]


def count_starts(engine, job, ranks, times):
    """Starts that many ranks over and over; returns how often all came and were right, and the seconds of each start."""
    # The stand-in's rank 0 does not wait for the others, so it would leave before they have read its id.
    steps = ["make", "sleep=0:1500"] if isinstance(engine, Rccl) else ["make", "all_reduce"]
    good, seconds = 0, []
    for _ in range(times):
        begin = time.time()
        output = engine.start(job, steps, ranks, 120000)
        seconds.append(time.time() - begin)
        good += output.count("make [") == output.count(": ok") / len(steps) == ranks
    return good, seconds


def cut_cable(job, rccl):
    """Two ranks without a timeout in network namespaces, whose connection is cut after 3 s: what they say."""
    names = [f"weir{os.getpid()}{side}" for side in "ab"]
    inside = lambda i, *command: subprocess.run(["ip", "-n", names[i], *command], check=True)
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
        cable = ["cable", "netns", names[0], "type", "veth", "peer", "cable", "netns", names[1]]
        subprocess.run(["ip", "link", "add", *cable], check=True)
        for i in (0, 1):
            inside(i, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "cable")
            inside(i, "link", "set", "cable", "up")
            inside(i, "link", "set", "lo", "up")
        ranks = []
        for i in (0, 1):
            environment = {**os.environ, **rccl.environment, **torchrun_environment(i, 2, "29400"),
                           "MASTER_ADDR": "10.77.0.1"}
            command = ["ip", "netns", "exec", names[i], job, "hip", "0", "make", "all_reduce"]
            ranks.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        time.sleep(3)
        inside(0, "link", "set", "cable", "down")
        begin = time.time()
        output = ""
        for process in ranks:
            output += process.communicate(timeout=90)[0]
        return output, int((time.time() - begin) * 1000)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name])


def sentences(output, ranks, step):
    """The distinct things that ranks printed for the last such step, without the parts that differ from run to run."""
    found = {}
    for rank in ranks:
        lines = re.findall(rf"^rank {rank} {step}(?:=\S+)? \[(\d+) ms\]: (.*)$", output, re.M)
        if not lines:
            found.setdefault("nothing", []).append((rank, None))
            continue
        ms, text = lines[-1]
        text = re.sub(r"^communicator_failed \| .*? on (?:mpi|gloo|rccl) rank \d+ of \d+ on \w+:\d+: ", "", text)
        text = re.sub(r"^communicator_failed \| [\w:]+ on rank \d+ of \d+ \([^)]*\): ", "", text)
        text = re.sub(r"host \S+, pid \d+", "host H, pid P", text)
        found.setdefault(text, []).append((rank, int(ms)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--rccl", nargs=3)
    parser.add_argument("--only", help="a part of a fault's name")
    parser.add_argument("--starts", nargs=2, type=int, metavar=("RANKS", "TIMES"), help="start jobs without faults instead")
    options = parser.parse_args()
    job = os.path.join(os.path.abspath(options.build), "bin/weir_job")
    real = [e for e in (OpenMpi(), Mpich(), Gloo()) if shutil.which(e.launcher)]
    engines = real + ([Rccl(*options.rccl)] if options.rccl else [])
    if options.starts:
        bad = 0
        for engine in engines:
            good, seconds = count_starts(engine, job, *options.starts)
            bad += options.starts[1] - good
            seconds.sort()
            print(f"{engine.name}: {good} of {options.starts[1]} starts of {options.starts[0]} ranks were right, in "
                  f"{seconds[len(seconds) // 2]:.1f} s (median; {seconds[0]:.1f} to {seconds[-1]:.1f})", flush=True)
        return 1 if bad else 0
    print("| fault | engine | what the surviving ranks say | after, ms |\n|---|---|---|---|")
    hangs = False
    for name, steps, delay, for_stand_in in CASES:
        if options.only and options.only not in name:
            continue
        for engine in engines if for_stand_in else real:
            output = engine.start(job, steps)
            hangs |= "HANGS" in output
            gone = {0} if "rank 0" in name else {2}
            last = steps[-1]
            for text, ranks in sentences(output, sorted(set(range(RANKS)) - gone), last).items():
                times = [ms - delay for _, ms in ranks if ms is not None]
                who = ", ".join(str(r) for r, _ in ranks)
                span = f"{min(times)} to {max(times)}" if times else "–"
                hang = " **HANGS**" if "HANGS" in output else ""
                print(f"| {name} | {engine.name} | ranks {who}: {text}{hang} | {span} |")
            sys.stdout.flush()
    if options.rccl and (not options.only or options.only in "the cable"):
        output, after = cut_cable(job, engines[-1])
        for text, ranks in sentences(output, [0, 1], "all_reduce").items():
            who = ", ".join(str(r) for r, _ in ranks)
            fault = "the cable between ranks 0 and 1 is cut, no timeout"
            print(f"| {fault} | {engines[-1].name} | ranks {who}: {text} | at most {after} |")
    return 1 if hangs else 0


if __name__ == "__main__":
    sys.exit(main())
