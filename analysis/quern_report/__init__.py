# SPDX-License-Identifier: Apache-2.0
"""Pages about training runs: `analysis/report` is its command. Needs Python alone."""
