# SPDX-License-Identifier: Apache-2.0
import weir

device = weir.Device()
loader, worker = device.create_stream(), device.create_stream()
x, y = device.allocate(4096), device.allocate(4096)
x.fill(1, stream=loader)
y.copy_from(x, stream=worker)  # worker.wait(loader) is missing
device.sync()
