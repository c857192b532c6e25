/* SPDX-License-Identifier: Apache-2.0 */
#include "weir_cuda_templates.h"
