# SPDX-License-Identifier: Apache-2.0
# Completion for bash: what `weir offer` prints, or else files.
_weir() {
  local current=${COMP_WORDS[COMP_CWORD]} offers
  [ "$current" != '=' ] || current='' # bash splits --backend=host into three words
  offers=$("${COMP_WORDS[0]}" offer "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
  mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$current")
}
complete -o default -F _weir weir
