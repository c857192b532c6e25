# SPDX-License-Identifier: Apache-2.0
# Completion for fish: what `weir offer` prints, and files.
complete -c weir -a '(weir offer (commandline -opc)[2..-1] 2>/dev/null)'
