// SPDX-License-Identifier: Apache-2.0

// The source that a target of precompiled headers must have.
