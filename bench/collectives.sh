#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests and measures collectives on the GPUs of a machine: collectives.sh BUILD OUT [PART…]
#
#   BUILD   contains bin/ and lib/ with weir-collectives, weir_collectives_bench, heat, training, and the plugins
#   OUT     receives the results, as text and as results.json; docs/tools/collectives.py makes a page from them
#   PART    right    all operations and random programs, in one process and in one for each GPU
#           sizes    all operations, types and sizes to 64 MiB, in one process and in one for each GPU: minutes
#           death    a rank is killed during the run: the others report that
#           bench    bandwidth and the cost of enqueuing, against raw calls and, if it is installed, PyTorch
#           heat     the heat equation on 1, 2, … GPUs, in one process and in one for each GPU
#           overlap  a trace of the heat equation and of the training step, and the share of time in which streams overlap
#           mpi      the same tests over MPI, if mpirun is installed or MPI_HOME is the folder of an Open MPI
#           Default: all.
#
# NCCL: WEIR_NCCL, or PyTorch's copy, or the system's. NVLink multicast stays off, because the machine may be shared.
# Ends with a line for each part; the exit status is 0 if none failed.
set -uo pipefail
build=$(realpath "$1") out=$2
shift 2
parts=("$@")
if [ ${#parts[@]} = 0 ]; then parts=(right sizes death bench heat overlap mpi); fi
here=$(dirname "$(realpath "$0")")
mkdir -p "$out"
out=$(realpath "$out")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

export WEIR_BACKEND=${WEIR_BACKEND:-cuda} NCCL_NVLS_ENABLE=0 LD_LIBRARY_PATH="$build/lib:${LD_LIBRARY_PATH-}"
python=${PYTHON:-python3}
loaded="import torch; print(next((l.split()[-1] for l in open('/proc/self/maps') if 'libnccl.so' in l), ''))"
has_torch=
if found=$("$python" -c "$loaded" 2>/dev/null); then
  has_torch=yes
  if [ -n "${WEIR_NCCL:-$found}" ]; then export WEIR_NCCL=${WEIR_NCCL:-$found}; fi
fi
gpus=${GPUS:-$(nvidia-smi --list-gpus 2>/dev/null | wc -l)}
echo "$gpus GPUs; WEIR_NCCL=${WEIR_NCCL-}"

failed=()
# check NAME SECONDS COMMAND…: runs the command; its output goes to OUT/NAME.txt and the terminal.
check() {
  local name=$1 limit=$2 begin=$SECONDS
  shift 2
  echo "== $name"
  timeout "$limit" "$@" >"$out/$name.txt" 2>&1
  local status=$?
  tail -n 30 "$out/$name.txt"
  if [ $status != 0 ]; then failed+=("$name"); fi
  echo "-- $name: status $status, $((SECONDS - begin)) s"
}

by_mpi() { mpirun --allow-run-as-root --oversubscribe --enable-recovery -np "$@"; }
if [ -n "${MPI_HOME-}" ]; then
  OPAL_PREFIX=$(realpath "$MPI_HOME")
  export OPAL_PREFIX WEIR_MPI="$OPAL_PREFIX/lib/libmpi.so.40"
  PATH="$OPAL_PREFIX/bin:$PATH" LD_LIBRARY_PATH="$OPAL_PREFIX/lib:$LD_LIBRARY_PATH"
fi
# ranks N COMMAND…: runs the command in N processes, with torchrun's variables. @FILE@ in the command is replaced by a
# rendezvous file; on CPUs, MPI is used instead.
ranks() {
  local n=$1 file port pids=() status=0
  shift
  if [ "$WEIR_BACKEND" = host ]; then
    WEIR_HOST_THREADS=1 by_mpi "$n" "$@"
    return
  fi
  file=$(mktemp -u "$scratch/meet.XXXXXX") port=$((20000 + RANDOM % 10000))
  for ((r = 0; r < n; ++r)); do
    MASTER_ADDR=localhost MASTER_PORT=$port RANK=$r LOCAL_RANK=$r WORLD_SIZE=$n "${@//@FILE@/$file}" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=$?; done
  return $status
}
# Like `ranks`, but kills rank DIES. Passes if every other rank reports that.
dying() {
  local n=$1 dies=$2 noticed
  shift 2
  ranks "$n" "$@" "dies=$dies" >"$scratch/dying.txt" 2>&1
  cat "$scratch/dying.txt"
  noticed=$(grep -c '^rank [0-9]* noticed' "$scratch/dying.txt")
  [ "$noticed" = $((n - 1)) ]
}
# visible N COMMAND…: runs the command so that it sees only the first N GPUs, or N host devices of one thread each.
visible() {
  export WEIR_HOST_DEVICES=$1 WEIR_HOST_THREADS=$1
  CUDA_VISIBLE_DEVICES=$(seq -s, 0 $(($1 - 1))) HIP_VISIBLE_DEVICES=$(seq -s, 0 $(($1 - 1))) "${@:2}"
}
export -f by_mpi ranks dying visible
export scratch
bash_check() { check "$1" "$2" bash -c "$3"; }

for part in "${parts[@]}"; do
  case $part in
    right)
      check right_one_process 60 "$build/bin/weir-collectives" timeout=0 programs=20
      check right_timeout 60 "$build/bin/weir-collectives" timeout=30000 programs=20
      bash_check right_processes 60 "ranks $gpus '$build/bin/weir-collectives' from=environment programs=20"
      ;;
    sizes)
      check sizes_one_process 300 "$build/bin/weir-collectives" full=1 programs=0
      bash_check sizes_processes 300 "ranks $gpus '$build/bin/weir-collectives' from=environment full=1 programs=0"
      ;;
    death)
      # The limit also applies to creating the communicator.
      bash_check death 90 "dying $gpus 1 '$build/bin/weir-collectives' from=environment timeout=15000"
      ;;
    bench)
      most=${MOST_BYTES:-1073741824}
      check bench_one_process 60 "$build/bin/weir_collectives_bench" "$out/one_process.json" "$most"
      if [ -n "$has_torch" ]; then
        bash_check bench_torch 90 "ranks $gpus '$python' '$here/collectives_torch.py' @FILE@ '$out/torch.json' '$most'"
      fi
      bash_check bench_processes 60 "ranks $gpus '$build/bin/weir_collectives_bench' '$out/processes.json' '$most'"
      ;;
    heat)
      side=${SIDE:-512}
      for ((n = 1; n <= gpus; n *= 2)); do
        bash_check "heat_$n" 60 "visible $n '$build/bin/heat' $side 400"
        if [ "$n" = 1 ]; then continue; fi
        bash_check "heat_processes_$n" 60 "ranks $n '$build/bin/heat' $side 400"
        bash_check "heat_one_stream_$n" 60 "visible $n '$build/bin/heat' $side 400 one"
      done
      bash_check training 60 "'$build/bin/training' 8 10000000 50"
      ;;
    overlap)
      for program in "heat 512 60" "training --no-graph 8 10000000 10"; do  # a captured step would appear as one launch
        name=overlap_${program%% *}
        bash_check "$name" 60 "WEIR_TOOLS=timeline WEIR_TIMELINE='$out/$name.pftrace' '$build/bin/'$program"
      done
      ;;
    mpi)
      if ! command -v mpirun >/dev/null; then
        echo "-- mpi: there is no mpirun"
        continue
      fi
      bash_check mpi 90 "by_mpi $gpus '$build/bin/weir-collectives' from=mpi library=mpi programs=5 graphs=0"
      bash_check mpi_carries_id 60 "by_mpi $gpus '$build/bin/weir-collectives' from=mpi programs=5"
      ;;
    *) echo "there is no part $part" && failed+=("$part") ;;
  esac
done
echo "== results"
"$python" "$here/collectives_table.py" "$out" || failed+=(results)
if [ ${#failed[@]} = 0 ]; then echo "all is right"; else echo "FAILED: ${failed[*]}"; fi
[ ${#failed[@]} = 0 ]
