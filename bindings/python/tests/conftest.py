# SPDX-License-Identifier: Apache-2.0
"""What several test files use."""

import pytest

import weir


@pytest.fixture
def device():
    return weir.Device()


@pytest.fixture
def stream(device):
    return device.create_stream()
