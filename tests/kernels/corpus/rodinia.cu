// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of Rodinia: macros, several shared arrays, halos, flags in memory.

#define BLOCK_SIZE 16
#define HALO 1
#define IN_RANGE(x, min, max) ((x) >= (min) && (x) <= (max))
#define CLAMP_RANGE(x, min, max) x = (x < (min)) ? min : ((x > (max)) ? max : x)
#define MIN(a, b) ((a) <= (b) ? (a) : (b))

// Several steps of a path's cost in one launch, in a block with a halo that grows smaller.
#define PATH_BLOCK 64
extern "C" __global__ void dynproc_kernel(int iteration, int* gpuWall, int* gpuSrc, int* gpuResults, int cols, int rows, int startStep, int border) {
  __shared__ int prev[PATH_BLOCK];
  __shared__ int result[PATH_BLOCK];
  int bx = blockIdx.x;
  int tx = threadIdx.x;
  int small_block_cols = PATH_BLOCK - iteration * HALO * 2;
  int blkX = small_block_cols * bx - border;
  int blkXmax = blkX + PATH_BLOCK - 1;
  int xidx = blkX + tx;
  int validXmin = (blkX < 0) ? -blkX : 0;
  int validXmax = (blkXmax > cols - 1) ? PATH_BLOCK - 1 - (blkXmax - cols + 1) : PATH_BLOCK - 1;
  int W = tx - 1;
  int E = tx + 1;
  W = (W < validXmin) ? validXmin : W;
  E = (E > validXmax) ? validXmax : E;
  bool isValid = IN_RANGE(tx, validXmin, validXmax);
  if (IN_RANGE(xidx, 0, cols - 1)) {
    prev[tx] = gpuSrc[xidx];
  }
  __syncthreads();
  bool computed;
  for (int i = 0; i < iteration; i++) {
    computed = false;
    if (IN_RANGE(tx, i + 1, PATH_BLOCK - i - 2) && isValid) {
      computed = true;
      int left = prev[W];
      int up = prev[tx];
      int right = prev[E];
      int shortest = MIN(left, up);
      shortest = MIN(shortest, right);
      int index = cols * (startStep + i) + xidx;
      result[tx] = shortest + gpuWall[index];
    }
    __syncthreads();
    if (i == iteration - 1)  // we are on the last iteration, and thus don't need to compute for the next step.
      break;
    if (computed)  // Assign the computation range
      prev[tx] = result[tx];
    __syncthreads();
  }
  if (computed) {
    gpuResults[xidx] = result[tx];
  }
}

__device__ __host__ int maximum(int a, int b, int c) {
  int k;
  if (a <= b)
    k = b;
  else
    k = a;
  if (k <= c)
    return (c);
  else
    return (k);
}
// Needleman and Wunsch: blocks of an anti-diagonal, each along its own anti-diagonals.
extern "C" __global__ void needle_cuda_shared(int* referrence, int* matrix_cuda, int cols, int penalty, int i, int first) {
  int bx = blockIdx.x;
  int tx = threadIdx.x;
  int b_index_x = bx + first;
  int b_index_y = i - b_index_x;
  int index = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x + tx + (cols + 1);
  int index_n = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x + tx + (1);
  int index_w = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x + (cols);
  int index_nw = cols * BLOCK_SIZE * b_index_y + BLOCK_SIZE * b_index_x;
  __shared__ int temp[BLOCK_SIZE + 1][BLOCK_SIZE + 1];
  __shared__ int ref[BLOCK_SIZE][BLOCK_SIZE];
  if (tx == 0) temp[tx][0] = matrix_cuda[index_nw];
  for (int ty = 0; ty < BLOCK_SIZE; ty++) ref[ty][tx] = referrence[index + cols * ty];
  __syncthreads();
  temp[tx + 1][0] = matrix_cuda[index_w + cols * tx];
  __syncthreads();
  temp[0][tx + 1] = matrix_cuda[index_n];
  __syncthreads();
  for (int m = 0; m < BLOCK_SIZE; m++) {
    if (tx <= m) {
      int t_index_x = tx + 1;
      int t_index_y = m - tx + 1;
      temp[t_index_y][t_index_x] = maximum(temp[t_index_y - 1][t_index_x - 1] + ref[t_index_y - 1][t_index_x - 1],
                                           temp[t_index_y][t_index_x - 1] - penalty, temp[t_index_y - 1][t_index_x] - penalty);
    }
    __syncthreads();
  }
  for (int m = BLOCK_SIZE - 2; m >= 0; m--) {
    if (tx <= m) {
      int t_index_x = tx + BLOCK_SIZE - m;
      int t_index_y = BLOCK_SIZE - tx;
      temp[t_index_y][t_index_x] = maximum(temp[t_index_y - 1][t_index_x - 1] + ref[t_index_y - 1][t_index_x - 1],
                                           temp[t_index_y][t_index_x - 1] - penalty, temp[t_index_y - 1][t_index_x] - penalty);
    }
    __syncthreads();
  }
  for (int ty = 0; ty < BLOCK_SIZE; ty++) matrix_cuda[index + ty * cols] = temp[ty + 1][tx + 1];
}

struct Node {
  int starting;
  int no_of_edges;
};
extern "C" __global__ void bfs_kernel(Node* g_graph_nodes, int* g_graph_edges, bool* g_graph_mask, bool* g_updating_graph_mask, bool* g_graph_visited, int* g_cost, int no_of_nodes) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < no_of_nodes && g_graph_mask[tid]) {
    g_graph_mask[tid] = false;
    for (int i = g_graph_nodes[tid].starting; i < (g_graph_nodes[tid].no_of_edges + g_graph_nodes[tid].starting); i++) {
      int id = g_graph_edges[i];
      if (!g_graph_visited[id]) {
        g_cost[id] = g_cost[tid] + 1;
        g_updating_graph_mask[id] = true;
      }
    }
  }
}
extern "C" __global__ void bfs_kernel2(bool* g_graph_mask, bool* g_updating_graph_mask, bool* g_graph_visited, bool* g_over, int no_of_nodes) {
  int tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < no_of_nodes && g_updating_graph_mask[tid]) {
    g_graph_mask[tid] = true;
    g_graph_visited[tid] = true;
    *g_over = true;
    g_updating_graph_mask[tid] = false;
  }
}

// A layer of a network: products in shared memory, added up by a tree whose strides are powers.
#define HEIGHT 16
#define WIDTH 16
extern "C" __global__ void bpnn_layerforward_CUDA(float* input_cuda, float* input_hidden_cuda, float* hidden_partial_sum, int hid) {
  int by = blockIdx.y;
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int index = (hid + 1) * HEIGHT * by + (hid + 1) * ty + tx + 1 + (hid + 1);
  int index_in = HEIGHT * by + ty + 1;
  __shared__ float input_node[HEIGHT];
  __shared__ float weight_matrix[HEIGHT][WIDTH];
  if (tx == 0) input_node[ty] = input_cuda[index_in];
  __syncthreads();
  weight_matrix[ty][tx] = input_hidden_cuda[index];
  __syncthreads();
  weight_matrix[ty][tx] = weight_matrix[ty][tx] * input_node[ty];
  __syncthreads();
  for (int i = 1; i <= __log2f(HEIGHT); i++) {
    int power_two = __powf(2, i);
    if (ty % power_two == 0) weight_matrix[ty][tx] = weight_matrix[ty][tx] + weight_matrix[ty + power_two / 2][tx];
    __syncthreads();
  }
  if (tx == 0) {
    hidden_partial_sum[by * hid + ty] = weight_matrix[tx][ty];
  }
}


// Diffusion of an image: neighbours by index arrays, coefficients clamped.
extern "C" __global__ void srad(float fraction, int Nr, int Nc, int* d_iN, int* d_iS, int* d_jE, int* d_jW, float* d_dN, float q0sqr, float* d_c, float* d_I) {
  int bx = blockIdx.x;
  int tx = threadIdx.x;
  int ei = bx * blockDim.x + tx;
  int row = (ei + 1) % Nr - 1, col = (ei + 1) / Nr + 1 - 1;
  if ((ei + 1) % Nr == 0) {
    row = Nr - 1;
    col = col - 1;
  }
  if (ei < Nr * Nc) {
    float d_Jc = d_I[ei];
    float d_dN_loc = d_I[d_iN[row] + Nr * col] - d_Jc;
    float d_dS_loc = d_I[d_iS[row] + Nr * col] - d_Jc;
    float d_dW_loc = d_I[row + Nr * d_jW[col]] - d_Jc;
    float d_dE_loc = d_I[row + Nr * d_jE[col]] - d_Jc;
    float d_G2 = (d_dN_loc * d_dN_loc + d_dS_loc * d_dS_loc + d_dW_loc * d_dW_loc + d_dE_loc * d_dE_loc) / (d_Jc * d_Jc);
    float d_L = (d_dN_loc + d_dS_loc + d_dW_loc + d_dE_loc) / d_Jc;
    float d_num = (0.5 * d_G2) - ((1.0 / 16.0) * (d_L * d_L));
    float d_den = 1 + (0.25 * d_L);
    float d_qsqr = d_num / (d_den * d_den);
    d_den = (d_qsqr - q0sqr) / (q0sqr * (1 + q0sqr));
    float d_c_loc = 1.0 / (1.0 + d_den);
    CLAMP_RANGE(d_c_loc, 0, 1);
    d_dN[ei] = d_dN_loc;
    d_c[ei] = d_c_loc;
  }
}

// Particles of neighbouring boxes: shared arrays of structs, cooperative loads in a loop of do.
struct FOUR_VECTOR { float v, x, y, z; };
struct THREE_VECTOR { float x, y, z; };
#define NUMBER_PAR_PER_BOX 40
#define NUMBER_THREADS 32
#define DOT(A, B) ((A.x) * (B.x) + (A.y) * (B.y) + (A.z) * (B.z))
extern "C" __global__ void lava_md(int boxes, float alpha, const FOUR_VECTOR* rv, const float* qv, FOUR_VECTOR* fv) {
  int bx = blockIdx.x;
  int tx = threadIdx.x;
  int wtx = tx;
  if (bx < boxes) {
    float a2 = 2.0 * alpha * alpha;
    __shared__ FOUR_VECTOR rA_shared[NUMBER_PAR_PER_BOX];
    __shared__ FOUR_VECTOR rB_shared[NUMBER_PAR_PER_BOX];
    __shared__ float qB_shared[NUMBER_PAR_PER_BOX];
    THREE_VECTOR d;
    int first_i = bx * NUMBER_PAR_PER_BOX;
    const FOUR_VECTOR* rA = &rv[first_i];
    FOUR_VECTOR* fA = &fv[first_i];
    while (wtx < NUMBER_PAR_PER_BOX) {
      rA_shared[wtx] = rA[wtx];
      wtx = wtx + NUMBER_THREADS;
    }
    wtx = tx;
    __syncthreads();
    for (int k = -1; k <= 1; k++) {
      int pointer = bx + k;
      if (pointer < 0 || pointer >= boxes) continue;
      const FOUR_VECTOR* rB = &rv[pointer * NUMBER_PAR_PER_BOX];
      const float* qB = &qv[pointer * NUMBER_PAR_PER_BOX];
      while (wtx < NUMBER_PAR_PER_BOX) {
        rB_shared[wtx] = rB[wtx];
        qB_shared[wtx] = qB[wtx];
        wtx = wtx + NUMBER_THREADS;
      }
      wtx = tx;
      __syncthreads();
      while (wtx < NUMBER_PAR_PER_BOX) {
        for (int j = 0; j < NUMBER_PAR_PER_BOX; j++) {
          float r2 = rA_shared[wtx].v + rB_shared[j].v - DOT(rA_shared[wtx], rB_shared[j]);
          float u2 = a2 * r2;
          float vij = expf(-u2);
          float fs = 2 * vij;
          d.x = rA_shared[wtx].x - rB_shared[j].x;
          d.y = rA_shared[wtx].y - rB_shared[j].y;
          d.z = rA_shared[wtx].z - rB_shared[j].z;
          fA[wtx].v += qB_shared[j] * vij;
          fA[wtx].x += qB_shared[j] * fs * d.x;
          fA[wtx].y += qB_shared[j] * fs * d.y;
          fA[wtx].z += qB_shared[j] * fs * d.z;
        }
        wtx = wtx + NUMBER_THREADS;
      }
      wtx = tx;
      __syncthreads();
    }
  }
}
