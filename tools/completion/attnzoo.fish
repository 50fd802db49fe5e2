# Completion of the command attnzoo for fish. Mechanisms and their options are asked of the command itself.

function __attnzoo_mechanisms
    attnzoo list 2>/dev/null | string replace -r '^(\S+)\s+(.*)$' '$1\t$2'
end

# NAME=VALUE for each option of the mechanism on the line, with the values that can be counted, else NAME=.
function __attnzoo_settings
    set -l mechanisms (attnzoo list 2>/dev/null | string replace -r '\s.*' '')
    for mechanism in (commandline -opc)
        contains -- $mechanism $mechanisms; or continue
        set -l within 0
        for line in (attnzoo describe $mechanism 2>/dev/null)
            switch $line
                case 'Options*'
                    set within 1
                case ''
                    set within 0
                case '   *'
                case '  *'
                    test $within -eq 1; or continue
                    set -l found (string match -r '^  (\S+)  (\w+), default .*?, ([^,]*)$' -- $line)
                    set -l name (string split -f 1 ' ' -- (string trim -- $line))
                    switch "$found[3]"
                        case bool
                            printf '%s=%s\n' $name true $name false
                        case choice
                            for value in (string split '|' -- $found[4])
                                printf '%s=%s\n' $name $value
                            end
                        case '*'
                            printf '%s=\n' $name
                    end
            end
        end
        return
    end
end

# NAME= for each input or output of the mechanism on the line, which stand below the title; behind NAME= files of the given
# endings.
function __attnzoo_slots -a title
    if string match -q '*=*' -- (commandline -ct)
        __attnzoo_files $argv[2..]
        return
    end
    set -l mechanisms (attnzoo list 2>/dev/null | string replace -r '\s.*' '')
    for mechanism in (commandline -opc)
        contains -- $mechanism $mechanisms; or continue
        set -l within 0
        for line in (attnzoo describe $mechanism 2>/dev/null)
            switch $line
                case "$title*"
                    set within 1
                case ''
                    set within 0
                case '  *'
                    test $within -eq 1; and printf '%s=\n' (string split -f 1 ' ' -- (string trim -- $line))
            end
        end
        return
    end
end

# The first word that is no option says which command; before it, commands are offered.
function __attnzoo_needs_command
    test (count (commandline -opc)) -eq 1
end

function __attnzoo_runs -a command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $command
end

function __attnzoo_needs_kind
    test (count (commandline -opc)) -eq 2
end

# The file of `attnzoo glimpse`, by the kind.
function __attnzoo_raw
    set -l words (commandline -opc)
    switch "$words[3]"
        case image draw
            __attnzoo_files .png
        case audio
            __attnzoo_files .wav
        case '*'
            __attnzoo_files ''
    end
end

function __attnzoo_needs_mechanism
    set -l words (commandline -opc)
    set -l mechanisms (attnzoo list 2>/dev/null | string replace -r '\s.*' '')
    for word in $words[3..]
        contains -- $word $mechanisms; and return 1
    end
    return 0
end

# Files of the given endings first, behind them all others. Of a name of two lines fish would make two names: what is there
# under no such name is left out, but for names that fish has to expand or takes for more than a name.
function __attnzoo_files
    for ending in $argv
        for name in (__fish_complete_suffix $ending)
            set -l path (string replace -r '\t.*' '' -- $name | string replace -r '^~/' "$HOME/")
            test -e "$path"; or string match -qr '^\$|[=:]' -- $path; and printf '%s\n' $name
        end
    end
end

function __attnzoo_arrays
    __attnzoo_files .npy .safetensors
end

complete -c attnzoo -f
complete -c attnzoo -n __attnzoo_needs_command -a list -d 'The mechanisms, or the tensors of a file, one a line'
complete -c attnzoo -n __attnzoo_needs_command -a describe -d 'Formula, options, parameters, inputs, outputs and state'
complete -c attnzoo -n __attnzoo_needs_command -a run -d 'Compute context, attention weights, a heat map'
complete -c attnzoo -n __attnzoo_needs_command -a compare -d 'How far two arrays are apart'
complete -c attnzoo -n __attnzoo_needs_command -a glimpse -d 'Arrays of text, pictures and sound'
complete -c attnzoo -n __attnzoo_needs_command -a help -d 'Help on a command'
complete -c attnzoo -n __attnzoo_needs_command -l version -d 'Print the version'
complete -c attnzoo -n __attnzoo_needs_command -l help -d 'Print help'

complete -c attnzoo -n '__attnzoo_runs list' -a '(__attnzoo_arrays)'
complete -c attnzoo -n '__attnzoo_runs list' -l help -d 'Print help'
complete -c attnzoo -n '__attnzoo_runs help' -a 'list describe run compare glimpse'
complete -c attnzoo -n '__attnzoo_runs describe' -l help -d 'Print help'
complete -c attnzoo -n '__attnzoo_runs describe; and __attnzoo_needs_mechanism' -a '(__attnzoo_mechanisms)'
complete -c attnzoo -n '__attnzoo_runs run; and __attnzoo_needs_mechanism' -a '(__attnzoo_mechanisms)'

complete -c attnzoo -n '__attnzoo_runs compare' -a '(__attnzoo_arrays)'
complete -c attnzoo -n '__attnzoo_runs compare' -l absolute-tolerance -x -d 'How far elements may be apart'
complete -c attnzoo -n '__attnzoo_runs compare' -l relative-tolerance -x -d 'How much more, as a part of B'
complete -c attnzoo -n '__attnzoo_runs compare' -l help -d 'Print help'

complete -c attnzoo -n '__attnzoo_runs glimpse; and __attnzoo_needs_kind' -a 'text image audio draw'
complete -c attnzoo -n '__attnzoo_runs glimpse; and not __attnzoo_needs_kind' -a '(__attnzoo_raw)'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l alphabet -x -d 'The letters'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l other -x -a 'refuse zero' -d 'What another letter is'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l table -x -a '(__attnzoo_arrays)' -d 'A row for each letter'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l tile -x -d 'Height and width of a tile'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l step -x -d 'How far apart tiles are'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l grey -d 'Grey alone'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l window -x -d 'Samples of a window'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l hop -x -d 'How far apart windows are'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l mono -d 'The mean of all channels'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l edge -x -a 'drop pad' -d 'What passes the end'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l padding -x -d 'What it is padded with'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l attention -x -a '(__attnzoo_arrays)' -d 'The weights of the tiles'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l query -x -d 'Whose weights'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l head -x -d 'Whose weights'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l output -x -a '(__attnzoo_files .npy .png)' -d 'The result'
complete -c attnzoo -n '__attnzoo_runs glimpse' -l help -d 'Print help'

complete -c attnzoo -n '__attnzoo_runs run' -l query -x -a '(__attnzoo_arrays)' -d 'What is looked for'
complete -c attnzoo -n '__attnzoo_runs run' -l key -x -a '(__attnzoo_arrays)' -d 'What it is found by'
complete -c attnzoo -n '__attnzoo_runs run' -l value -x -a '(__attnzoo_arrays)' -d 'What is found'
complete -c attnzoo -n '__attnzoo_runs run' -l position -x -a '(__attnzoo_arrays)' -d 'The position table'
complete -c attnzoo -n '__attnzoo_runs run' -l input -x -a '(__attnzoo_slots Inputs .npy .safetensors)' -d 'Any input by its name'
complete -c attnzoo -n '__attnzoo_runs run' -l past-key -x -a '(__attnzoo_arrays)' -d 'Put in front of the key'
complete -c attnzoo -n '__attnzoo_runs run' -l past-value -x -a '(__attnzoo_arrays)' -d 'Put in front of the value'
complete -c attnzoo -n '__attnzoo_runs run' -l state-in -x -a '(__attnzoo_files .safetensors)' -d 'The state to go on from'
complete -c attnzoo -n '__attnzoo_runs run' -l set -x -a '(__attnzoo_settings)' -d 'An option of the mechanism'
complete -c attnzoo -n '__attnzoo_runs run' -l weights -x -a '(__attnzoo_files .safetensors)' -d 'The parameters by their names'
complete -c attnzoo -n '__attnzoo_runs run' -l prefix -x -d 'What stands before the names in it'
complete -c attnzoo -n '__attnzoo_runs run' -l rename -x -a 'pytorch huggingface' -d 'What names in it mean'
complete -c attnzoo -n '__attnzoo_runs run' -l causal -d 'Keys up to the own position'
complete -c attnzoo -n '__attnzoo_runs run' -l window -x -d 'Keys around the own position'
complete -c attnzoo -n '__attnzoo_runs run' -l key-lengths -x -a '(__attnzoo_arrays)' -d 'Only the first keys of each batch'
complete -c attnzoo -n '__attnzoo_runs run' -l query-lengths -x -a '(__attnzoo_arrays)' -d 'Only the first queries of each batch'
complete -c attnzoo -n '__attnzoo_runs run' -l mask -x -a '(__attnzoo_arrays)' -d 'True = may be seen'
complete -c attnzoo -n '__attnzoo_runs run' -l segments -x -a '(__attnzoo_arrays)' -d 'Keys of the own segment'
complete -c attnzoo -n '__attnzoo_runs run' -l bias -x -a '(__attnzoo_arrays)' -d 'Added to the scores'
complete -c attnzoo -n '__attnzoo_runs run' -l alibi -x -a '(__attnzoo_arrays)' -d 'Slopes of a bias by distance'
complete -c attnzoo -n '__attnzoo_runs run' -l align -x -a 'bottom-right top-left lengths' -d 'Which query stands at which key'
complete -c attnzoo -n '__attnzoo_runs run' -l query-offset -x -a '(__attnzoo_arrays)' -d 'Where queries stand'
complete -c attnzoo -n '__attnzoo_runs run' -l context -x -a '(__attnzoo_files .npy)' -d 'The result'
complete -c attnzoo -n '__attnzoo_runs run' -l attention -x -a '(__attnzoo_files .npy)' -d 'The weight of each key for each query'
complete -c attnzoo -n '__attnzoo_runs run' -l output -x -a '(__attnzoo_slots Outputs .npy)' -d 'Any output by its name'
complete -c attnzoo -n '__attnzoo_runs run' -l state-out -x -a '(__attnzoo_files .safetensors)' -d 'The state after the call'
complete -c attnzoo -n '__attnzoo_runs run' -l heatmap -x -a '(__attnzoo_files .png)' -d 'A picture of the attention'
complete -c attnzoo -n '__attnzoo_runs run' -l query-labels -r -F -d 'Lines for the rows of the picture'
complete -c attnzoo -n '__attnzoo_runs run' -l key-labels -r -F -d 'Lines for its columns'
complete -c attnzoo -n '__attnzoo_runs run' -l threads -x -d 'Threads that work'
complete -c attnzoo -n '__attnzoo_runs run' -l time -d 'Print the wall time of a call'
complete -c attnzoo -n '__attnzoo_runs run' -l help -d 'Print help'
