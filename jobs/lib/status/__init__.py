# SPDX-License-Identifier: Apache-2.0
"""The parts of jobs/status. Python 3.6 and its standard library."""
