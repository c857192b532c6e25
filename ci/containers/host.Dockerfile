# SPDX-License-Identifier: Apache-2.0
# A distribution with the packages of ci/install-deps.sh and the requested compilers:
#   docker build -f ci/containers/host.Dockerfile --build-arg BASE=debian:12 --build-arg PACKAGES="g++-12 clang-14" .
ARG BASE=debian:12
FROM ${BASE}
ARG PACKAGES=""
COPY ci/common.sh ci/install-deps.sh /tmp/weir/ci/
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends ca-certificates git pkg-config ${PACKAGES} \
 && /tmp/weir/ci/install-deps.sh \
 && rm -rf /var/lib/apt/lists/*
