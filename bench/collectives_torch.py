#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures PyTorch's all_reduce with one process for each GPU, like bench/collectives.cpp measures Weir's.

    RANK=… WORLD_SIZE=… LOCAL_RANK=… collectives_torch.py RENDEZVOUS_FILE RESULTS.json MOST_BYTES
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

rendezvous, results, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
rank, ranks, local = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
torch.cuda.set_device(local)
dist.init_process_group("nccl", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
data = torch.zeros(most // 4, device="cuda")


def seconds(part, times):
    dist.all_reduce(part)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(times):
        dist.all_reduce(part)
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / times


def enqueuing(part):
    dist.all_reduce(part)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(50):
        dist.all_reduce(part)
    taken = (time.perf_counter() - begin) / 50
    torch.cuda.synchronize()
    return taken


rows, count = [], 1
while count <= most // 4:
    times = min(max(2**30 // count, 20), 200)
    rows.append({"bytes": 4 * count, "torch_us": 1e6 * statistics.median(seconds(data[:count], times) for _ in range(7))})
    count *= 4
cost = 1e6 * statistics.median(enqueuing(data[:1]) for _ in range(41))
if rank == 0:
    with open(results, "w", encoding="utf-8") as file:
        json.dump({"library": "torch " + torch.__version__ + ", nccl " + ".".join(map(str, torch.cuda.nccl.version())),
                   "device": torch.cuda.get_device_name(), "ranks": ranks, "enqueue": {"torch_us": cost},
                   "all_reduce": rows}, file, indent=1)
dist.destroy_process_group()
