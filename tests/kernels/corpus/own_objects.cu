// Objects that have the same value in all threads at first, and that each thread then changes: by an operator or a
// conversion of their class, or through another object that refers to them.

struct Cell {
  int x;
  __device__ int& operator[](int i) {
    x += i;
    return x;
  }
  __device__ int operator*() { return x++; }
  __device__ operator bool() { return (x++ & 1) != 0; }
  __device__ Cell* operator->() {
    x += 2;
    return this;
  }
  __device__ friend int operator/(int i, Cell& c) { return c.x -= i; }
};
__device__ Cell& operator|(Cell& c, int i) {
  c.x += i;
  return c;
}

extern "C" __global__ void changed_by_operators(int* out) {
  const int t = threadIdx.x;
  Cell element = {3}, followed = {5}, asked = {7}, member = {9}, divided = {11}, combined = {13};
  auto grouped = Cell{15};
  int sum = element[t];
  if (t > 2) sum += *followed;
  if (t > 4 && asked) sum += 1;
  if (t > 6) sum += member->x;
  sum += t / divided;
  combined | t;
  (t > 8 ? grouped : combined) | 100;
  __syncthreads();
  out[t] = sum + element.x + followed.x + asked.x + member.x + divided.x + combined.x * 1000 + grouped.x * 100000;
}

struct Adder {
  int& sum;
  __device__ void add(int x) { sum += x; }
};
struct Restore {
  int& place;
  int saved;
  __device__ explicit Restore(int& x) : place(x), saved(x) {}
  __device__ ~Restore() { place = saved + (int)threadIdx.x; }
};
struct Point {
  int x, y[2];
  __device__ void move(int by) { x += by; }
};

extern "C" __global__ void changed_by_others(int* out) {
  const int t = threadIdx.x;
  int added = 3, restored = 5, listed = 7, kept = 9;
  Adder adder{added};
  Adder adders[2] = {{listed}, {listed}};
  Adder keeper{kept};
  adder.add(t);
  {
    Restore restore(restored);
    restored = 100 * t;
  }
  adders[t & 1].add(2 * t);
  Point grouped = {1, {2, 3}};
  (grouped).x += t;
  (grouped).y[1] = t;
  (grouped).move(t);
  __syncthreads();
  keeper.add(t);  // refers to a variable that nothing names here
  out[t] = added + restored * 100 + listed * 10000 + keeper.sum * 1000000 + grouped.x + grouped.y[1];
}
