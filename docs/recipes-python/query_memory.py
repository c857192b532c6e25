# SPDX-License-Identifier: Apache-2.0
#
# How do I ask in Python how much memory is free?
#
# `mem_info` is cudaMemGetInfo: free and total bytes, at this moment. Other processes also allocate, so allocate and
# catch `MemoryError` rather than rely on it.
import weir

free, total = weir.Device().mem_info
print(f"{free >> 20} of {total >> 20} MiB are free")
assert 0 <= free <= total and total > 0
