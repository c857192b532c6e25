/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_types.h"
