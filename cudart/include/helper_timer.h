/* SPDX-License-Identifier: Apache-2.0 */
/* The stop watch of the helper headers of NVIDIA's samples; times are in milliseconds. */
#ifndef COMMON_HELPER_TIMER_H_
#define COMMON_HELPER_TIMER_H_
#include <chrono>

class StopWatchInterface {
 public:
  void start() {
    begin_ = std::chrono::steady_clock::now();
    running_ = true;
  }
  void stop() {
    total_ += since_begin();
    running_ = false;
    ++count_;
  }
  void reset() {
    total_ = 0;
    count_ = 0;
    begin_ = std::chrono::steady_clock::now();
  }
  float getTime() const { return total_ + (running_ ? since_begin() : 0); }
  float getAverageTime() const { return count_ > 0 ? total_ / (float)count_ : 0; }

 private:
  float since_begin() const {
    return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::chrono::steady_clock::time_point begin_;
  float total_ = 0;
  int count_ = 0;
  bool running_ = false;
};
typedef StopWatchInterface StopWatchLinux;

/* clang-format off */
inline bool sdkCreateTimer(StopWatchInterface** timer) { *timer = new StopWatchInterface; return true; }
inline bool sdkDeleteTimer(StopWatchInterface** timer) { delete *timer; *timer = nullptr; return true; }
inline bool sdkStartTimer(StopWatchInterface** timer) { if (*timer) (*timer)->start(); return true; }
inline bool sdkStopTimer(StopWatchInterface** timer) { if (*timer) (*timer)->stop(); return true; }
inline bool sdkResetTimer(StopWatchInterface** timer) { if (*timer) (*timer)->reset(); return true; }
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) { return *timer ? (*timer)->getAverageTime() : 0; }
inline float sdkGetTimerValue(StopWatchInterface** timer) { return *timer ? (*timer)->getTime() : 0; }
/* clang-format on */

#endif
