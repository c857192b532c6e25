// SPDX-License-Identifier: Apache-2.0
// Barriers and warps in control flow of all kinds.
//! divbar2 2 1 1 64 1 1 0 workgroup
//! nestbar 2 1 1 96 1 1 0 workgroup
//! breakbar 2 1 1 70 1 1 0 workgroup
//! swfall 2 1 1 64 1 1 0 workgroup
//! gotobar 2 1 1 48 1 1 0 workgroup
//! earlyret 2 1 1 64 1 1 0 workgroup
//! earlyretwarp 2 1 1 64 1 1 0 workgroup
//! retloop 2 1 1 64 1 1 0 workgroup
//! lambda 2 1 1 64 1 1 0 workgroup
//! exitbar 2 1 1 64 1 1 0 workgroup
//! clk 1 1 1 64 1 1 0 workgroup
//! anyloop 2 1 1 64 1 1 0 workgroup
//! ptrwalk 2 1 1 64 1 1 0 workgroup
//! swloop 2 1 1 64 1 1 0 workgroup
//! dowhile 2 1 1 64 1 1 0 workgroup
//! nestdiv 2 1 1 64 1 1 0 workgroup
//! fncall 2 1 1 64 1 1 0 workgroup

KERNEL(divbar2) {
  INDEX;
  __shared__ int s[64];
  s[t] = in[i];
  if (in[blockIdx.x] & 1) {
    __syncthreads();
    out[i] = s[63 - t];
  } else {
    out[i] = -1;
  }
  __syncthreads();
  if (t & 1) out[i] += s[t ^ 1];
}
KERNEL(nestbar) {
  INDEX;
  __shared__ int s[96];
  s[t] = in[i] & 15;
  __syncthreads();
  int acc = 0;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < (in[a] & 3) + 1; ++b) {
      int v = s[(t + b) % 96];
      __syncthreads();
      if (v & 1) s[t] += a;
      __syncthreads();
      acc += s[(t * 7 + a) % 96];
      if (acc > 1000) acc -= 1000;
    }
    if (t % 3 == a) acc ^= 5;
  }
  out[i] = acc;
}
KERNEL(breakbar) {
  INDEX;
  __shared__ int s[70];
  s[t] = in[i] & 7;
  __syncthreads();
  int acc = t;
  for (int k = 0;; ++k) {
    acc += s[(t + k) % 70];
    __syncthreads();
    if (s[k % 70] > 5) break;
    if (k > 20) {
      acc += 100;
      break;
    }
    if (s[k % 70] == 3) continue;
    acc *= 3;
    __syncthreads();
  }
  out[i] = acc;
}
KERNEL(swfall) {
  INDEX;
  int v = in[i], r = 0;
  switch (v & 7) {
    case 0: r += 1;
    case 1: r += __shfl_xor_sync(__activemask(), v, 0);
    case 2: r += 4; break;
    case 3: r += 8;
    case 5:
      for (int k = 0; k < (v & 3); ++k) {
        r += k;
        if (r > 11) break;
      }
    default: r *= 2;
    case 6: r -= t;
  }
  r += __shfl_xor_sync(~0u, r, 5);
  out[i] = r;
}
KERNEL(gotobar) {
  INDEX;
  __shared__ int s[48];
  int k = 0, acc = 0;
  s[t] = in[i];
again:
  __syncthreads();
  acc += s[(t + k) % 48];
  __syncthreads();
  if (t == k) s[t] = acc;
  if (k++ < (in[0] & 3)) goto again;
  if (acc & 1) goto odd;
  acc /= 2;
odd:
  out[i] = acc;
}
KERNEL(earlyret) {
  INDEX;
  __shared__ int s[64];
  s[t] = in[i];
  if (t >= 50) return;
  __syncthreads();
  out[i] = s[(t + 1) % 50];
}
KERNEL(earlyretwarp) {
  INDEX;
  if (in[i] & 1) return;
  unsigned m = __activemask();
  int v = __shfl_sync(m, in[i], __ffs(m) - 1);
  if (v > in[i]) return;
  out[i] = v + __popc(__ballot_sync(__activemask(), in[i] & 2));
}
KERNEL(retloop) {
  INDEX;
  int acc = 0;
  for (int k = 0; k < 40; ++k) {
    acc += in[(i + k * 3) % 1000] & 7;
    if (acc > 60 + t) {
      out[i] = -acc;
      return;
    }
    acc += __popc(__activemask());
  }
  out[i] = acc;
}
template <class F>
__device__ int apply(F f, int k) {
  return f(k) + f(k + 1);
}
KERNEL(lambda) {
  INDEX;
  __shared__ int s[64];
  auto put = [&](int k) {
    s[t] = in[i] + k;
    __syncthreads();
    int r = s[63 - t];
    __syncthreads();
    return r;
  };
  out[i] = apply(put, 3) + apply([=](int k) { return __shfl_xor_sync(~0u, k + t, 3); }, 9);
}
KERNEL(exitbar) {
  INDEX;
  __shared__ int s[64];
  s[t] = in[i];
  if (t < 32 && blockIdx.x == 1) return;
  __syncthreads();
  if (t >= 48) return;
  __syncthreads();
  out[i] = s[t] + __syncthreads_count(t & 1) + __syncthreads_or(t == 5) + __syncthreads_and(t > 2);
}
KERNEL(clk) {
  INDEX;
  int acc = 0;
  // The clock goes on within the loop. On a busy machine the thread may rest between two reads, then it takes longer ones.
  for (long long wait = 1000; acc == 0 && wait < 1LL << 34; wait *= 2) {
    long long a = clock64();
    while (clock64() - a < wait) ++acc;
  }
  out[i] = acc > 0;
}
KERNEL(anyloop) {
  INDEX;
  int v = in[i] & 63, c = 0;
  while (__any_sync(~0u, v > 0)) {
    if (v > 0) {
      v -= (t & 3) + 1;
      ++c;
    }
    if (__all_sync(~0u, v < -100)) break;
  }
  out[i] = c * 100 + v;
}
KERNEL(ptrwalk) {
  INDEX;
  const int* p = in + t;
  int acc = 0;
  for (; p < in + 500 - (t & 7) * 10; p += 33) {
    acc += *p;
    if (*p == 7) break;
  }
  out[i] = acc + __shfl_xor_sync(~0u, (int)(p - in), 2);
}
KERNEL(swloop) {
  INDEX;
  int s = in[i] & 3, acc = 0;
  for (int k = 0; k < 30; ++k) {
    switch (s) {
      case 0:
        acc += 1;
        s = acc % 3;
        continue;
      case 1:
        acc += t;
        s = 2;
        break;
      case 2:
        acc ^= 3;
        s = (acc >> 1) & 3;
        if (acc > 300) goto out_;
        break;
      case 3: s = 0;
    }
    acc += __popc(__activemask()) > 40;
  }
out_:
  out[i] = acc + __any_sync(__activemask(), s == 3);
}
KERNEL(dowhile) {
  INDEX;
  int v = in[i], c = 0;
  do {
    if (v & 1) {
      v = v * 3 + 1;
      ++c;
      continue;
    }
    v /= 2;
    ++c;
    if (c > 50 + t) break;
  } while (v > 1);
  out[i] = c + __shfl_up_sync(~0u, c, 1);
}
KERNEL(nestdiv) {
  INDEX;
  int acc = 0;
  for (int a = 0; a < (in[i] & 7); ++a)
    for (int b = a; b < (in[i + a] & 7); ++b) {
      if (((a + b + t) & 3) == 0) continue;
      int c = 0;
      while (c * c < (in[b] & 63)) {
        if (((c + t) & 15) == 9) break;
        ++c;
      }
      acc += c;
      if (acc > 90) goto done;
    }
done:
  out[i] = acc + __shfl_xor_sync(~0u, acc, 7);
}
__device__ int pick(int v, int t) {
  if (v < 100) return 1;
  for (int k = 0; k < 9; ++k) {
    if (v % (k + 2) == t % 3) return k;
    if (k == 7 && t > 40) return -1;
  }
  return 5;
}
KERNEL(fncall) {
  INDEX;
  int p = pick(in[i], t);
  p += pick(in[i] + p, t + 1);
  out[i] = p + __shfl_down_sync(~0u, p, 3);
}
