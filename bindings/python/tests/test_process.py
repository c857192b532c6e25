# SPDX-License-Identifier: Apache-2.0
"""Tests interpreter shutdown, fork, subinterpreters, a GIL that cannot be taken, and signals."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import weir


def run(code, *, seconds=60, **environment):
    command = [sys.executable, "-X", "dev", "-c", "import os, sys, threading, time\nimport weir\n" + textwrap.dedent(code)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr
    return done


def test_the_interpreter_ends_while_functions_are_under_way():
    done = run(
        """
        stream = weir.Device().create_stream()
        for _ in range(30):  # fewer than may wait
            stream.launch_host_func(time.sleep, 0.1)
        stream.add_callback(print)
        """,
        seconds=20,
    )
    assert done.stderr == ""


def test_what_functions_raised_is_reported_at_the_end():
    done = run(
        """
        stream = weir.Device().create_stream()
        def fail(): raise ValueError("told at the end")
        with weir.capture() as captured:
            captured.stream.launch_host_func(fail)
        stream.launch_host_func(fail)
        captured.graph.launch(stream)
        event = stream.record()
        event.sync()
        time.sleep(0.05)
        """
    )
    assert done.stderr.count("ValueError: told at the end") == 2 and "leaked" not in done.stderr, done.stderr


def test_the_interpreter_ends_before_streams_ask_for_functions():
    done = run(
        """
        device = weir.Device()
        gate = threading.Event()
        blocked, *others = (device.create_stream() for _ in range(4))
        blocked.launch_host_func(gate.wait)
        for stream in others:
            stream.wait(blocked)
            for _ in range(20):
                stream.launch_host_func(print)
        del stream
        others.pop()
        import atexit
        @atexit.register
        def last():
            gate.set()
        """,
        seconds=20,
    )
    assert done.stdout == done.stderr == ""


def test_the_interpreter_ends_while_threads_wait():
    done = run(
        """
        device = weir.Device()
        gate = threading.Event()
        def wait():
            stream = device.create_stream()
            stream.launch_host_func(gate.wait)
            stream.sync()
        def call():
            while True:
                device.create_stream().sync()
        for target in (wait, wait, call, call):
            threading.Thread(target=target, daemon=True).start()
        time.sleep(0.1)
        """,
        seconds=20,
    )
    assert done.stderr == ""


def test_the_interpreter_ends_while_a_capture_keeps_memory():
    done = run(
        """
        stream = weir.Device("host").create_stream()
        stream.begin_capture()
        weir.from_dlpack(bytearray(8))
        time.sleep(0.05)
        """,
        seconds=20,
    )
    assert done.stderr == ""


def test_what_is_done_at_exit():
    done = run(
        """
        import atexit
        stream = weir.Device().create_stream()
        @atexit.register
        def last():
            buffer = stream.allocate(4, "uint8").copy_from(b"abcd", stream=stream)
            print(bytes(buffer.get(stream=stream)))
        """
    )
    assert done.stdout == "b'abcd'\n" and done.stderr == ""


def test_a_child_of_fork_is_told():
    done = run(
        """
        stream = weir.Device().create_stream()
        stream.launch_host_func(lambda: None)
        stream.sync()
        if os.fork() == 0:
            for call in (stream.sync, lambda: stream.launch_host_func(print), weir.Device, lambda: weir.Device().create_stream()):
                try:
                    call()
                    print("no error", call)
                except weir.ForkedProcessError as error:
                    print("spawn" in str(error))
            sys.stdout.flush()
            del stream
            sys.exit(0)
        assert os.wait()[1] == 0
        stream.launch_host_func(lambda: None)
        stream.sync()
        """
    )
    assert done.stdout.split("\n") == ["True"] * 4 + [""]


def test_a_function_that_forks():
    """The child has one thread, which ends with the function."""
    done = run(
        """
        stream = weir.Device().create_stream()
        statuses = []
        def fork(end):
            pid = os.fork()
            if pid == 0:
                end()
            else:
                statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        for end in (int, lambda: 1 // 0):
            stream.launch_host_func(fork, end)
        stream.sync()
        assert statuses == [0, 1], statuses
        """,
        seconds=20,
    )
    assert "ZeroDivisionError" in done.stderr and "leaked" not in done.stderr


def test_a_child_of_fork_may_be_the_first():
    run(
        """
        if os.fork() == 0:
            stream = weir.Device().create_stream()
            ran = []
            stream.launch_host_func(ran.append, 1)
            stream.sync()
            assert ran == [1]
            sys.exit(0)
        assert os.wait()[1] == 0
        """
    )


def test_other_interpreters_are_refused():
    code = f"import sys; sys.path = {sys.path!r}\nimport weir"
    if sys.version_info >= (3, 14):
        from concurrent import interpreters

        one = interpreters.create()
        with pytest.raises(interpreters.ExecutionFailed, match="main interpreter only"):
            one.exec(code)
        one.close()
    else:
        interpreters = pytest.importorskip("_xxsubinterpreters")
        one = interpreters.create()
        # Python 3.12 itself refuses to load a module that does not declare support for subinterpreters.
        with pytest.raises(interpreters.RunFailedError, match="main interpreter only|does not support loading in subinterpreters"):
            interpreters.run_string(one, code)
        interpreters.destroy(one)
    weir.Device().create_stream().sync()  # the main interpreter still works


def test_import_is_quick_and_without_numpy():
    done = run("assert 'numpy' not in sys.modules and 'asyncio' not in sys.modules")
    assert done.stderr == ""


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("wait", ["stream", "event"])
def test_ctrl_c_ends_a_wait(wait, timeout):
    stream = weir.Device().create_stream()
    flag = stream.device.allocate(1, weir.uint32, kind="pinned")
    word = np.asarray(flag)
    word[0] = 0
    stream.wait_value(flag, 1)
    event = stream.record()
    waited_for = {"stream": stream, "event": event}[wait]
    ctrl_c = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    ctrl_c.start()
    try:
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            waited_for.sync(timeout)
        assert time.monotonic() - begin < 30
        assert not stream.is_done  # the work goes on
    finally:
        word[0] = 1
        ctrl_c.join()
    waited_for.sync(timeout)


def test_ctrl_c_ends_a_wait_for_room():
    stream = weir.Device().create_stream()
    gate = threading.Event()
    ended = []
    stream.launch_host_func(lambda: ended.append(gate.wait(10)))
    ctrl_c = threading.Timer(0.1, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    ctrl_c.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(300):
                stream.launch_host_func(int)
            time.sleep(30)
        assert not ended
    finally:
        gate.set()
        ctrl_c.join()
    stream.sync()


def test_handlers_of_signals_run_during_a_wait():
    stream = weir.Device().create_stream()
    flag = stream.device.allocate(1, weir.uint32, kind="pinned")
    word = np.asarray(flag)
    word[0] = 0

    def let_go(*_):
        word[0] = 1

    former = signal.signal(signal.SIGALRM, let_go)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        stream.wait_value(flag, 1)
        stream.sync(timeout=60)
    finally:
        signal.signal(signal.SIGALRM, former)


def test_fork_while_functions_are_under_way():
    run(
        """
        stream = weir.Device().create_stream()
        gate = threading.Event()
        ran = []
        stream.launch_host_func(gate.wait)
        for i in range(20):
            stream.launch_host_func(ran.append, i)
        if os.fork() == 0:
            try:
                stream.launch_host_func(print)
            except weir.ForkedProcessError:
                sys.exit(0)
            sys.exit(1)
        assert os.wait()[1] == 0
        gate.set()
        stream.sync()
        assert ran == list(range(20))
        """
    )
