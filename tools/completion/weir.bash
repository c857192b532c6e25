# SPDX-License-Identifier: Apache-2.0
# Completion of the command weir, for bash.

_weir() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  # Bash splits --backend=host into three words.
  if [ "$current" = '=' ]; then
    current=''
  elif [ "$previous" = '=' ]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --)  # behind it stands another program, with its arguments
        if ((i + 1 == COMP_CWORD)); then
          mapfile -t COMPREPLY < <(compgen -c -- "$current")
        else
          mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        return
        ;;
      info | doctor | kernels | run | timeline | shake | bench | conformance) command=${command:-${COMP_WORDS[i]}} ;;
    esac
  done
  local words
  case $previous in
    --backend | --require) words='cuda hip host' ;;
    --log) words='error warn info debug' ;;
    --tools) words='race timeline ranges faults shake validate' ;;
    --schedule) words='random pct' ;;
    --device | --disable-features | --timeout | --seeds | --first | --depth) words='' ;;
    -o | --output)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --known-failures | --junit | --json)
      if [ "$command" = conformance ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
      fi
      words='--help --backend --verbose'
      ;;
    *)
      case $command in
        info) words='--help --backend --json --verbose' ;;
        doctor) words='--help' ;;
        kernels)
          if [ "$previous" = inspect ]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
          fi
          words='--help inspect'
          ;;
        run) words='--help --backend --device --disable-features --log --tools --' ;;
        timeline) words='--help --backend --output --' ;;
        shake) words='--help --seeds --first --schedule --depth --timeout --backend --' ;;
        bench) words='--help --backend --scaling' ;;
        conformance)
          words='--help --backend --require --device --list --known-failures --timeout --one-process --junit --json --dt-help'
          ;;
        *) words='--help --version info doctor kernels run timeline shake bench conformance' ;;
      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _weir weir
