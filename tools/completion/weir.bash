# SPDX-License-Identifier: Apache-2.0
# Completion of the commands weir, weir-conformance and weir-kernels, for bash.

_weir() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  case ${COMP_WORDS[0]##*/} in
    weir-conformance) command=conformance ;;
    weir-kernels) command=weir-kernels ;;
  esac
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
      info | doctor | kernels | cache | new | run | timeline | record | replay | race | shake | stuck | bench | conformance) command=${command:-${COMP_WORDS[i]}} ;;
    esac
  done
  local words
  case $previous in
    --backend | --require) words='cuda hip host' ;;
    --log) words='error warn info debug' ;;
    --tools) words='race timeline ranges record faults shake validate' ;;
    --schedule)
      words='random pct both'
      [ "$command" = race ] && words='pct:1'
      ;;
    --standard) words='14 17 20' ;;
    --device | --disable-features | --timeout | --seeds | --first | --depth | --older-than | --limit) words='' ;;
    --for | --define | --kernel | --option) words='' ;;
    -o | --output | --output-file | --depfile | --compiler | --clang)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --include | --system-include)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    --known-failures | --junit | --json)
      if [ "$command" = conformance ] || [ "$command" = race ]; then
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
        cache)
          words='--help list size clear'
          for ((i = 1; i < COMP_CWORD; ++i)); do
            case ${COMP_WORDS[i]} in
              list | size) words='--help' ;;
              clear) words='--help --older-than' ;;
            esac
          done
          ;;
        new)
          if [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            return
          fi
          words='--help'
          ;;
        run) words='--help --backend --device --disable-features --log --tools --stuck --' ;;
        timeline) words='--help --backend --output --' ;;
        record) words='--help --backend --output --limit --' ;;
        replay)
          if [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
          fi
          words='--help --backend'
          ;;
        race) words='--help --witness --schedule --output-file --timeout --json --' ;;
        shake) words='--help --seeds --first --schedule --depth --timeout --backend --races --' ;;
        stuck) words="--help $(pgrep -u "$(id -u)" | tr '\n' ' ')" ;;
        bench) words='--help --backend --scaling' ;;
        conformance)
          words='--help --backend --require --device --list --known-failures --timeout --one-process --junit --json --dt-help'
          ;;
        weir-kernels)
          words='image bundle --for --output --depfile --include --system-include --define --kernel --standard --fast-math --debug'
          words+=' --option --compiler --clang --optional --no-source --help --version'
          if ((COMP_CWORD > 1)) && [[ $current != -* ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
          fi
          ;;
        *) words='--help --version info doctor kernels cache new run timeline record replay race shake stuck bench conformance' ;;
      esac
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _weir weir weir-conformance weir-kernels
