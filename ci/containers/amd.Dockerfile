# SPDX-License-Identifier: Apache-2.0
# One release of ROCm, from AMD's image. The driver is the host's (docker run --device=/dev/kfd --device=/dev/dri):
#   docker build -f ci/containers/amd.Dockerfile --build-arg IMAGE=rocm/dev-ubuntu-22.04:6.2 .
# Not tested: the project has no host with Docker and an AMD GPU.
ARG IMAGE=rocm/dev-ubuntu-22.04:6.2
FROM ${IMAGE}
# Ubuntu 22.04's g++ is 11, which is too old for Weir.
ARG PACKAGES=""
COPY ci/common.sh ci/install-deps.sh /tmp/weir/ci/
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
      ca-certificates git pkg-config python3 ${PACKAGES} \
 && /tmp/weir/ci/install-deps.sh \
 && rm -rf /var/lib/apt/lists/*
