# SPDX-License-Identifier: Apache-2.0
# One release of the CUDA toolkit, from NVIDIA's image. The driver is the host's (docker run --gpus all):
#   docker build -f ci/containers/nvidia.Dockerfile --build-arg IMAGE=nvidia/cuda:12.4.1-devel-ubuntu22.04 .
# Not tested: the project has no host with Docker and an NVIDIA GPU.
ARG IMAGE=nvidia/cuda:12.4.1-devel-ubuntu22.04
FROM ${IMAGE}
# Ubuntu 22.04's g++ is 11, which is too old for Weir.
ARG PACKAGES=""
COPY ci/common.sh ci/install-deps.sh /tmp/weir/ci/
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
      ca-certificates git pkg-config python3 ${PACKAGES} \
 && /tmp/weir/ci/install-deps.sh \
 && rm -rf /var/lib/apt/lists/*
