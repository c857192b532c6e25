# SPDX-License-Identifier: Apache-2.0
#
# How do I share memory of a GPU with another process in Python (IPC)?
#
# Send `buffer.ipc_descriptor`, 64 bytes, by any means, and open it by `Buffer.from_ipc_descriptor`, with the shape and
# the type. An event with `ipc_enabled=True` orders the two processes' work. The memory lives in the process that
# allocated it, so that process must keep it while the other uses it. The CPU lacks these features: share a numpy array
# in `multiprocessing.shared_memory` there.
import multiprocessing

import numpy as np
import weir


def work(memory: bytes, event: bytes) -> None:
    device = weir.Device()
    with device.create_stream() as stream:
        x = weir.Buffer.from_ipc_descriptor(device, memory, 1000, weir.int32)
        stream.wait(weir.Event.from_ipc_descriptor(device, event))
        assert (x.get() == np.arange(1000)).all()
        x.fill(7)
        stream.sync()


if __name__ == "__main__":
    device = weir.Device()
    if not device.supports("interprocess_memory") or not device.supports("interprocess_events"):
        raise SystemExit(77)  # skipped
    with device.create_stream() as stream:
        x = device.allocate(1000, weir.int32).copy_from(np.arange(1000, dtype=np.int32))
        event = stream.record(device.create_event(ipc_enabled=True))
        context = multiprocessing.get_context("spawn")
        child = context.Process(target=work, args=(x.ipc_descriptor, event.ipc_descriptor))
        child.start()
        child.join()
        assert child.exitcode == 0 and (x.get() == 7).all()
