#include "core/telemetry/device_sampler.h"

#include <fstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A GPU whose clock rises with every reading and whose tensor cores nobody can see.
class FakeMonitor final : public GpuMonitor {
 public:
  GpuIdentity identify() override { return {}; }
  GpuReading read() override {
    GpuReading reading;
    reading.sm_mhz = 1000 + 10 * ++readings_;
    reading.power_w = 350;
    reading.throttle = {"power cap"};
    return reading;
  }

 private:
  int readings_ = 0;
};

class DeviceSamplerTest : public ::testing::Test {
 protected:
  DeviceSamplerTest() { fs::create_directories(folder_); }
  ~DeviceSamplerTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::temp_directory_path() / ("tandem-sampler-" + std::to_string(getpid()));
};

TEST_F(DeviceSamplerTest, WritesALineFiveTimesASecond) {
  std::optional<double> mhz;
  {
    DeviceSampler sampler(std::make_unique<FakeMonitor>(), folder_, 3, [] { return std::int64_t{7}; });
    EXPECT_FALSE(sampler.sm_mhz());
    std::this_thread::sleep_for(3.5 * DeviceSampler::kInterval);
    mhz = sampler.sm_mhz();
    EXPECT_EQ(sampler.power_w(), 350);
  }
  std::ifstream file(folder_ / "device.rank3.jsonl");
  int lines = 0;
  double before = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_GE(json.at("t_ms").get<double>() - before, 0.9 * 200);
    before = json.at("t_ms");
    EXPECT_EQ(json.at("step"), 7);
    EXPECT_EQ(json.at("sm_mhz"), 1010 + 10 * lines);
    EXPECT_TRUE(json.at("tensor_pct").is_null()) << "what is not measured is no 0";
    EXPECT_EQ(json.at("throttle"), nlohmann::json({"power cap"}));
  }
  EXPECT_GE(lines, 1);
  EXPECT_LE(lines, 4);
  EXPECT_GE(mhz.value_or(0), 1010);
}

TEST_F(DeviceSamplerTest, WithoutAMonitorThereIsNoFile) {
  DeviceSampler sampler(nullptr, folder_, 0, [] { return std::int64_t{0}; });
  EXPECT_FALSE(sampler.sm_mhz());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST(GpuMonitor, IsAbsentWhereThereIsNoSuchGpu) {
  EXPECT_EQ(GpuMonitor::open("ffff:ff:1f.0"), nullptr);
}

}  // namespace
}  // namespace tandem
