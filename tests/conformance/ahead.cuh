#pragma once
#define AHEAD_FACTOR 3
