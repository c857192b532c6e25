#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ccache.sh COMPILER ARGUMENT…: compiles through ccache, except for precompiled headers. A precompiled header contains the
# times of its headers. So if a fresh clone got a cached one from an earlier clone, GCC would include each header twice.
case " $* " in
  *" c++-header "*) exec "$@" ;;
esac
exec ccache "$@"
