/* SPDX-License-Identifier: Apache-2.0 */
/* The stop watch of the helper headers of NVIDIA's samples; times are in milliseconds. */
#ifndef COMMON_HELPER_TIMER_H_
#define COMMON_HELPER_TIMER_H_
#include <chrono>

class StopWatchInterface {
 public:
  virtual ~StopWatchInterface() {}
  virtual void start() = 0;
  virtual void stop() = 0;
  virtual void reset() = 0;
  virtual float getTime() = 0;
  virtual float getAverageTime() = 0;
};
class StopWatchLinux : public StopWatchInterface {
 public:
  void start() override {
    begin_ = std::chrono::steady_clock::now();
    running_ = true;
  }
  void stop() override {
    total_ += since_begin();
    running_ = false;
    ++count_;
  }
  void reset() override {
    total_ = 0;
    count_ = 0;
    begin_ = std::chrono::steady_clock::now();
  }
  float getTime() override { return total_ + (running_ ? since_begin() : 0); }
  float getAverageTime() override { return count_ > 0 ? total_ / (float)count_ : 0; }

 private:
  float since_begin() const {
    return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  }
  std::chrono::steady_clock::time_point begin_;
  float total_ = 0;
  int count_ = 0;
  bool running_ = false;
};

inline bool sdkCreateTimer(StopWatchInterface** timer) {
  *timer = new StopWatchLinux();
  return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->start();
  return true;
}
inline bool sdkStopTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->stop();
  return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->reset();
  return true;
}
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) {
  return *timer != nullptr ? (*timer)->getAverageTime() : 0;
}
inline float sdkGetTimerValue(StopWatchInterface** timer) { return *timer != nullptr ? (*timer)->getTime() : 0; }

#endif
