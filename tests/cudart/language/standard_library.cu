// SPDX-License-Identifier: Apache-2.0
// CUDA's C++ library: cuda::atomic in all its scopes and orders, <cuda/std/…>, and text for one target (<nv/target>).
#include <cuda/atomic>
#include <cuda/cmath>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <new>
#include <nv/target>
#include <thread>

#include "check.h"

template <class T, cuda::thread_scope scope>
using Atomic = cuda::atomic<T, scope>;

struct Results {
  Atomic<int, cuda::thread_scope_system> system{0};
  Atomic<float, cuda::thread_scope_device> real{0.f};
  Atomic<long long, cuda::thread_scope_device> most{-1};
  Atomic<unsigned, cuda::thread_scope_system> bits{0};
  Atomic<int*, cuda::thread_scope_device> place{nullptr};
  cuda::std::atomic<double> product{1.};
  int plain = 0, of_block = 0;
};
__device__ Atomic<unsigned, cuda::thread_scope_device> next{0}, serving{0};
__device__ int guarded;

__global__ void count(Results* r) {
  const int me = int(blockIdx.x * blockDim.x + threadIdx.x);
  r->system.fetch_add(2, cuda::memory_order_relaxed);
  r->system--;
  r->real += 0.5f;
  r->most.fetch_max((long long)me << 33);
  r->bits |= 1u << me % 32;
  r->place.fetch_add(1);
  if (me < 8) {
    double old = r->product.load();
    while (!r->product.compare_exchange_weak(old, old * 2, cuda::std::memory_order_acq_rel, cuda::std::memory_order_relaxed)) {
    }
  }
  cuda::atomic_ref<int, cuda::thread_scope_device>(r->plain).fetch_add(3, cuda::std::memory_order_relaxed);
  __shared__ Atomic<int, cuda::thread_scope_block> here;
  if (threadIdx.x == 0) here.store(0);
  __syncthreads();
  ++here;
  __syncthreads();
  if (me == 0) r->of_block = here.exchange(7, cuda::memory_order_acquire);
}
__global__ void take_turns() {
  const unsigned ticket = next.fetch_add(1, cuda::memory_order_relaxed);
  while (serving.load(cuda::memory_order_acquire) != ticket) __nanosleep(10);
  guarded += int(threadIdx.x);
  serving.fetch_add(1, cuda::memory_order_release);
}
struct Mail {
  Atomic<int, cuda::thread_scope_system> number{0};
  int text = 0;
};
__global__ void answer(Mail* to, Mail* from) {
  while (to->number.load(cuda::memory_order_acquire) != 1) {
  }
  from->text = to->text * 2;
  from->number.store(1, cuda::memory_order_release);
}
__global__ void at_most_two(cuda::counting_semaphore<cuda::thread_scope_device>* left, int* most) {
  using Latch = cuda::latch<cuda::thread_scope_block>;
  alignas(Latch) __shared__ char memory[sizeof(Latch)];
  Latch& all = *reinterpret_cast<Latch*>(memory);
  if (threadIdx.x == 0) new (&all) Latch(blockDim.x);
  __syncthreads();
  left->acquire();
  atomicMax(most + 1, atomicAdd(most, 1) + 1);
  atomicSub(most, 1);
  left->release();
  all.arrive_and_wait();
}
__host__ __device__ int side() { NV_IF_ELSE_TARGET(NV_IS_DEVICE, (return 1;), (return 2;)) }
__host__ __device__ int version() {
  int v = 0;
  NV_DISPATCH_TARGET(NV_PROVIDES_SM_70, (v = 70;), NV_ANY_TARGET, (v = 1;))
  NV_IF_TARGET(NV_NO_TARGET, (v = 0;))
  return v;
}
__global__ void library(double* out) {
  namespace std_ = cuda::std;
  int i = 0;
  const std_::array<int, 3> a{1, 2, 3};
  for (const int x : a) out[i] += x;
  std_::complex<double> z(1, 2);
  z = z * std_::complex<double>(3, -1) / std_::complex<double>(0, 1);
  out[++i] = z.real() * 10 + z.imag();
  std_::tuple<int, double> t(4, 0.5);
  out[++i] = std_::get<0>(t) + std_::get<1>(t);
  std_::pair<int, int> p{1, 2};
  std_::swap(p.first, p.second);
  out[++i] = std_::exchange(p.first, 9) * 10 + p.first;
  int numbers[] = {5, 6, 7};
  const std_::span<int> s(numbers);
  out[++i] = double(s.size()) + s.subspan(1)[1];
  out[++i] = std_::popcount(0xffu) + std_::countl_zero(1u) + std_::bit_ceil(5u);
  const std_::optional<int> o = 3;
  out[++i] = o.value_or(0) + std_::numeric_limits<short>::max();
  out[++i] = cuda::ceil_div(10, 4) + (std_::is_same_v<std_::remove_cv_t<const int>, int> ? 10 : 0);
  out[++i] = side() * 100 + version();
}

int main() {
  Results* r;
  CHECK_CALL(cudaMallocManaged(&r, sizeof(Results)));
  new (r) Results;
  count<<<4, 64>>>(r);
  CHECK_KERNEL();
  CHECK(r->system.load() == 256 && r->real == 128 && r->most == 255ll << 33 && r->bits.load() == ~0u);
  CHECK(r->place.load() == (int*)nullptr + 256 && r->product == 256 && r->plain == 768 && r->of_block == 64);
  take_turns<<<2, 32>>>();
  CHECK_KERNEL();
  int sum = 0;
  CHECK_CALL(cudaMemcpyFromSymbol(&sum, guarded, sizeof(int)));
  CHECK(sum == 992);
  Mail* mail;
  CHECK_CALL(cudaMallocHost(&mail, 2 * sizeof(Mail)));
  Mail *const to = new (mail) Mail, *const from = new (mail + 1) Mail;
  answer<<<1, 1>>>(to, from);
  to->text = 21;
  to->number.store(1, cuda::memory_order_release);
  while (from->number.load(cuda::memory_order_acquire) != 1) std::this_thread::yield();
  CHECK(from->text == 42);
  CHECK_KERNEL();
  cuda::counting_semaphore<cuda::thread_scope_device>* left;
  CHECK_CALL(cudaMallocManaged(&left, sizeof(*left)));
  new (left) cuda::counting_semaphore<cuda::thread_scope_device>(2);
  Numbers<int, 2> most;
  CHECK_CALL(cudaMemset(most.device, 0, sizeof(most.host)));
  at_most_two<<<2, 32>>>(left, most.device);
  CHECK_KERNEL();
  CHECK(most.read()[0] == 0 && most.host[1] >= 1 && most.host[1] <= 2);
  Numbers<double, 9> out;
  CHECK_CALL(cudaMemset(out.device, 0, sizeof(out.host)));
  library<<<1, 1>>>(out.device);
  CHECK_KERNEL();
  const double expected[] = {6, 45, 4.5, 29, 10, 8 + 31 + 8, 3 + 32767, 13, 170};
  for (int i = 0; i < 9; ++i) CHECK(out.read()[i] == expected[i]);
  CHECK(side() == 2 && version() == 1);
  return 0;
}
