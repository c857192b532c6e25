# SPDX-License-Identifier: Apache-2.0
# Completion of the commands weir, weir-conformance and weir-kernels, for fish.

# The program behind --, with its arguments.
function __weir_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    and complete -C (string join ' ' -- $words[(math $at + 1)..-1] (commandline -ct))
end

complete -c weir -f
complete -c weir -s h -l help -d 'print help'
complete -c weir -n __fish_use_subcommand -l version -d 'print the version'
complete -c weir -n __fish_use_subcommand -a info -d 'what Weir finds on this machine'
complete -c weir -n __fish_use_subcommand -a doctor -d 'why a backend is not usable, and what to do about it'
complete -c weir -n __fish_use_subcommand -a kernels -d 'what kernels a program has'
complete -c weir -n __fish_use_subcommand -a cache -d 'compiled kernels that are kept'
complete -c weir -n __fish_use_subcommand -a new -d 'a program to begin with'
complete -c weir -n __fish_use_subcommand -a run -d "a program with Weir's variables set"
complete -c weir -n __fish_use_subcommand -a timeline -d 'a program, and when each stream did what'
complete -c weir -n __fish_use_subcommand -a record -d 'what a program does, to be replayed'
complete -c weir -n __fish_use_subcommand -a replay -d 'what a recording says'
complete -c weir -n __fish_use_subcommand -a race -d 'a program with the tool race, and what comes of each report'
complete -c weir -n __fish_use_subcommand -a shake -d 'a program in unusual orders of its streams'
complete -c weir -n __fish_use_subcommand -a stuck -d 'what a process that hangs waits for'
complete -c weir -n __fish_use_subcommand -a bench -d 'what Weir costs on this machine'
complete -c weir -n __fish_use_subcommand -a conformance -d "whether a backend keeps Weir's promises"

complete -c weir -n '__fish_seen_subcommand_from info' -l backend -x -a 'cuda hip host' -d 'only this backend'
complete -c weir -n '__fish_seen_subcommand_from info' -l json -d 'print all there is as JSON'
complete -c weir -n '__fish_seen_subcommand_from info' -s v -l verbose -d 'every property'
complete -c weir -n '__fish_seen_subcommand_from kernels' -a inspect
complete -c weir -n '__fish_seen_subcommand_from inspect' -F
complete -c weir -n '__fish_seen_subcommand_from cache; and not __fish_seen_subcommand_from list size clear' -a 'list size clear'
complete -c weir -n '__fish_seen_subcommand_from clear' -l older-than -x -d 'not used for so many days'
complete -c weir -n '__fish_seen_subcommand_from new' -a '(__fish_complete_directories)'
complete -c weir -n '__fish_seen_subcommand_from run timeline record' -l backend -x -a 'cuda hip host' -d 'names in order of preference'
complete -c weir -n '__fish_seen_subcommand_from run' -l device -x -d 'the ordinal of the default device'
complete -c weir -n '__fish_seen_subcommand_from run' -l disable-features -x -d 'features to do without'
complete -c weir -n '__fish_seen_subcommand_from run' -l log -x -a 'error warn info debug' -d 'what is told on standard error'
complete -c weir -n '__fish_seen_subcommand_from run' -l tools -x -a 'race timeline ranges record faults shake validate' -d 'what looks at the program'
complete -c weir -n '__fish_seen_subcommand_from run' -l stuck -d 'tell what hangs'
complete -c weir -n '__fish_seen_subcommand_from stuck' -x -a '(__fish_complete_pids)'
complete -c weir -n '__fish_seen_subcommand_from timeline' -s o -l output -r -F -d 'the trace'
complete -c weir -n '__fish_seen_subcommand_from record' -s o -l output -r -F -d 'the recording'
complete -c weir -n '__fish_seen_subcommand_from record' -l limit -x -d 'the most bytes of the file'
complete -c weir -n '__fish_seen_subcommand_from replay' -F
complete -c weir -n '__fish_seen_subcommand_from race' -l witness -d 'in both orders of each two operations'
complete -c weir -n '__fish_seen_subcommand_from race' -l schedule -x -d 'a value of WEIR_SCHEDULE'
complete -c weir -n '__fish_seen_subcommand_from race' -l output-file -r -d 'what the program writes'
complete -c weir -n '__fish_seen_subcommand_from race' -l timeout -x -d 'how long each run may take'
complete -c weir -n '__fish_seen_subcommand_from race' -l json -r -d 'the verdicts'
complete -c weir -n '__fish_seen_subcommand_from shake' -l seeds -x -d 'how often'
complete -c weir -n '__fish_seen_subcommand_from shake' -l first -x -d 'the first seed'
complete -c weir -n '__fish_seen_subcommand_from shake' -l schedule -x -a 'random pct both' -d 'how the next stream is chosen'
complete -c weir -n '__fish_seen_subcommand_from shake' -l depth -x -d 'of schedules by priority'
complete -c weir -n '__fish_seen_subcommand_from shake' -l races -d 'also tell in which order races ran'
complete -c weir -n '__fish_seen_subcommand_from shake' -l timeout -x -d 'how long each run may take'
complete -c weir -n '__fish_seen_subcommand_from shake bench replay' -l backend -x -a 'cuda hip host' -d 'what it runs on'
complete -c weir -n '__fish_seen_subcommand_from run timeline record race shake' -a '(__weir_program)'
complete -c weir -n '__fish_seen_subcommand_from bench' -l scaling -d 'costs against numbers of streams and operations'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l backend -x -a 'cuda hip host' -d 'the backend to test'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l require -x -a 'cuda hip host' -d 'the same, and its absence is a failure'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l device -x -d "the device's ordinal"
complete -c weir -n '__fish_seen_subcommand_from conformance' -l list -d 'list the cases and rows'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l known-failures -r -F -d 'cases that are expected to fail'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l timeout -x -d 'how long one case may take'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l one-process -d 'run the cases in this process'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l junit -r -F -d 'also write the report as JUnit XML'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l json -r -F -d 'also write it as JSON'
complete -c weir -n '__fish_seen_subcommand_from conformance' -l dt-help -d "print doctest's options"

complete -c weir-conformance -f
complete -c weir-conformance -l help -d 'print help'
complete -c weir-conformance -l backend -x -a 'cuda hip host' -d 'the backend to test'
complete -c weir-conformance -l require -x -a 'cuda hip host' -d 'the same, and its absence is a failure'
complete -c weir-conformance -l device -x -d "the device's ordinal"
complete -c weir-conformance -l list -d 'list the cases and rows'
complete -c weir-conformance -l known-failures -r -F -d 'cases that are expected to fail'
complete -c weir-conformance -l timeout -x -d 'how long one case may take'
complete -c weir-conformance -l one-process -d 'run the cases in this process'
complete -c weir-conformance -l junit -r -F -d 'also write the report as JUnit XML'
complete -c weir-conformance -l json -r -F -d 'also write it as JSON'
complete -c weir-conformance -l dt-help -d "print doctest's options"

complete -c weir-kernels -n __fish_use_subcommand -a 'image bundle'
complete -c weir-kernels -l help -d 'print help'
complete -c weir-kernels -l version -d 'print the version'
complete -c weir-kernels -l for -x -d 'backend and architecture'
complete -c weir-kernels -l output -r -F -d 'what is written'
complete -c weir-kernels -l depfile -r -F -d 'what was read'
complete -c weir-kernels -l include -r -F -d 'headers that the bundle carries'
complete -c weir-kernels -l system-include -r -F -d 'headers that it does not carry'
complete -c weir-kernels -l define -x -d 'a macro'
complete -c weir-kernels -l kernel -x -d 'an instance of a template'
complete -c weir-kernels -l standard -x -a '14 17 20' -d 'of C++'
complete -c weir-kernels -l fast-math -d 'as CompileOptions has it'
complete -c weir-kernels -l debug -d 'as CompileOptions has it'
complete -c weir-kernels -l option -x -d "for a backend's compiler"
complete -c weir-kernels -l compiler -r -F -d 'the compiler'
complete -c weir-kernels -l clang -r -F -d 'Clang alone'
complete -c weir-kernels -l optional -d 'without that compiler, warn'
complete -c weir-kernels -l no-source -d 'the bundle does not carry its source'
