# SPDX-License-Identifier: Apache-2.0
"""The rules of jobs/lint."""
