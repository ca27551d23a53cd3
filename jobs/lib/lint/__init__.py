# SPDX-License-Identifier: Apache-2.0
"""The rules of jobs/lint: each is a function that takes a Script and yields Findings."""

from . import directive_rules, launch_rules, resource_rules, restart_rules, status_rules, variable_rules

# Of scripts in another language than the shell's: what only #SBATCH lines tell.
DIRECTIVE_RULES = directive_rules.RULES + resource_rules.OF_DIRECTIVES
RULES = (directive_rules.RULES + resource_rules.RULES + restart_rules.RULES + launch_rules.RULES +
         variable_rules.RULES + status_rules.RULES)
