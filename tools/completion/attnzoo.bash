# Completion of the command attnzoo for bash, with or without bash-completion. Mechanisms and their options are asked of
# the command itself.
# shellcheck shell=bash

# Cuts the line up to the cursor into words as the shell reads them, the last one being `typed`, and finds out how many
# characters of that stay: bash puts what is offered behind an open quote, or the last of its unquoted word breaks.
# Nothing is evaluated; of variables those in capitals are known, as ours are not.
_attnzoo_read_line() {
    local line=${COMP_LINE:0:COMP_POINT} place character quote='' is_word=0
    for ((place = 0; place < ${#line}; place++)); do
        character=${line:place:1}
        if [[ $quote == "'" && $character != "'" ]]; then
            typed+=$character
        elif [[ -n $quote && $character == "$quote" ]]; then
            quote='' kept=$kept_outside
        elif [[ $character == '$' && ${line:place} =~ ^\$(([A-Z_][A-Z0-9_]*)|\{([A-Z_][A-Z0-9_]*)\}) ]]; then
            character=${BASH_REMATCH[2]}${BASH_REMATCH[3]}
            typed+=${!character-}
            place=$((place + ${#BASH_REMATCH[0]} - 1))
        elif [[ $character == \\ && (-z $quote || ${line:place+1:1} == [\$\`\"\\]) ]]; then
            place=$((place + 1))
            typed+=${line:place:1}
        elif [[ -n $quote ]]; then
            typed+=$character
        elif [[ $character == [[:space:]] ]]; then
            [[ $is_word -eq 1 ]] && words+=("$typed")
            typed='' kept=0 kept_outside=0 is_word=0
            continue
        elif [[ $character == [\'\"] ]]; then
            quote=$character kept_outside=$kept kept=${#typed}
        elif [[ $character == '~' && ${#typed} -eq $kept && ${line:place+1:1} == / && -n ${HOME-} ]]; then
            typed+=$HOME
        else
            typed+=$character
            [[ $COMP_WORDBREAKS == *"$character"* ]] && kept=${#typed}
        fi
        is_word=1
    done
    words+=("$typed")
}

# Offers candidates that begin with "$1", which is the last part of the word, or all of it.
_attnzoo_offer() {
    local value=$1 leading candidate
    shift
    leading=${typed%"$value"}
    for candidate in "$@"; do
        [[ $candidate == "$value"* ]] || continue
        candidate=$leading$candidate
        COMPREPLY+=("${candidate:kept}")
    done
    return 0
}

# Names that begin with "$1", each with a zero byte behind it. To be called in a process of its own.
_attnzoo_names() {
    local folder=${1%"${1##*/}"} name
    set +f
    unset GLOBIGNORE
    shopt -u failglob
    shopt -s nullglob
    [[ ${1##*/} == .* ]] && shopt -s dotglob
    [[ $(bind -v 2>/dev/null) == *'completion-ignore-case on'* ]] && shopt -s nocasematch
    for name in "$folder"*; do
        # Nothing in bash can complete a name of two lines.
        [[ $name == "$1"* && $name != *$'\n'* ]] && printf '%s\0' "$name"
    done
}

# Folders, and files of the given endings, or all files without any.
_attnzoo_files() {
    local value=$1 leading name ending
    shift
    leading=${typed%"$value"}
    compopt -o filenames 2>/dev/null
    while IFS= read -r -d '' name; do
        if [[ ! -d $name && $# -gt 0 ]]; then
            for ending in "$@"; do
                [[ $name == *"$ending" ]] && break
            done
            [[ $name == *"$ending" ]] || continue
        fi
        # Only of a whole name bash sees by itself that it is a folder.
        [[ -d $name && $kept -ne ${#leading} ]] && name+=/
        name=$leading$name
        COMPREPLY+=("${name:kept}")
    done < <(_attnzoo_names "$value")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
    return 0
}

_attnzoo_mechanisms() {
    local name
    while read -r name _; do
        [[ -n $name ]] && printf '%s\n' "$name"
    done < <("$1" list 2>/dev/null)
}

# The options of a mechanism as NAME=, or with "$3" the values that option may have, where they can be counted.
_attnzoo_settings() {
    local line name rest values within=0
    while IFS= read -r line; do
        case $line in
            Options*) within=1 ;;
            '') within=0 ;;
            '   '*) ;;
            '  '*)
                [[ $within -eq 1 && $line == *', default '* ]] || continue
                read -r name rest <<<"$line"
                if [[ -z ${3-} ]]; then
                    printf '%s=\n' "$name"
                elif [[ $name == "$3" && $rest == bool,* ]]; then
                    printf '%s=%s\n' "$name" true "$name" false
                elif [[ $name == "$3" && $rest == choice,* ]]; then
                    IFS='|' read -ra values <<<"${rest##*, }"
                    printf "$name=%s\n" "${values[@]}"
                fi
                ;;
        esac
    done < <("$1" describe "$2" 2>/dev/null)
}

# The names of a mechanism's inputs or outputs, which stand below the title "$3", as NAME=.
_attnzoo_slots() {
    local line name within=0
    while IFS= read -r line; do
        case $line in
            "$3"*) within=1 ;;
            '') within=0 ;;
            '  '*)
                read -r name _ <<<"$line"
                [[ $within -eq 1 ]] && printf '%s=\n' "$name"
                ;;
        esac
    done < <("$1" describe "$2" 2>/dev/null)
}

# The value of an option of `attnzoo run`; fails where the option takes none.
_attnzoo_run_value() {
    local attnzoo=$1 option=$2 value=$3 mechanism=$4 candidates
    case $option in
        --query | --key | --value | --position | --past-key | --past-value | --mask | --bias | --alibi | --segments | \
            --key-lengths | --query-lengths | --query-offset)
            _attnzoo_files "$value" .npy .safetensors ;;
        --weights | --state-in | --state-out) _attnzoo_files "$value" .safetensors ;;
        --context | --attention) _attnzoo_files "$value" .npy ;;
        --heatmap) _attnzoo_files "$value" .png ;;
        --query-labels | --key-labels) _attnzoo_files "$value" ;;
        --align) _attnzoo_offer "$value" bottom-right top-left lengths ;;
        --rename) _attnzoo_offer "$value" pytorch huggingface ;;
        --set)
            if [[ $value == *=* ]]; then
                mapfile -t candidates < <(_attnzoo_settings "$attnzoo" "$mechanism" "${value%%=*}")
            else
                mapfile -t candidates < <(_attnzoo_settings "$attnzoo" "$mechanism")
                compopt -o nospace 2>/dev/null
            fi
            _attnzoo_offer "$value" "${candidates[@]}"
            ;;
        --input)
            if [[ $value == *=* ]]; then
                _attnzoo_files "${value#*=}" .npy .safetensors
            else
                mapfile -t candidates < <(_attnzoo_slots "$attnzoo" "$mechanism" Inputs)
                compopt -o nospace 2>/dev/null
                _attnzoo_offer "$value" "${candidates[@]}"
            fi
            ;;
        --output)
            if [[ $value == *=* ]]; then
                _attnzoo_files "${value#*=}" .npy
            else
                mapfile -t candidates < <(_attnzoo_slots "$attnzoo" "$mechanism" Outputs)
                compopt -o nospace 2>/dev/null
                _attnzoo_offer "$value" "${candidates[@]}"
            fi
            ;;
        --prefix | --window | --threads) ;;
        *) return 1 ;;
    esac
}

_attnzoo_run() {
    local attnzoo=$1 previous=$2 mechanism=$3 mechanisms
    _attnzoo_run_value "$attnzoo" "$previous" "$typed" "$mechanism" && return
    if [[ $typed == --*=* ]]; then
        _attnzoo_run_value "$attnzoo" "${typed%%=*}" "${typed#*=}" "$mechanism"
        return
    fi
    if [[ -z $mechanism && $typed != -* ]]; then
        mapfile -t mechanisms < <(_attnzoo_mechanisms "$attnzoo")
        _attnzoo_offer "$typed" "${mechanisms[@]}"
        return
    fi
    _attnzoo_offer "$typed" --query --key --value --position --input --past-key --past-value --state-in --set --weights \
        --prefix --rename --causal --window --key-lengths --query-lengths --mask --segments --bias --alibi --align \
        --query-offset --context --attention --output --state-out --heatmap --query-labels --key-labels --threads --time \
        --help
}

_attnzoo_compare() {
    local previous=$1
    case $previous in
        --absolute-tolerance | --relative-tolerance) return ;;
    esac
    if [[ $typed == -* ]]; then
        _attnzoo_offer "$typed" --absolute-tolerance --relative-tolerance --help
    else
        _attnzoo_files "$typed" .npy .safetensors
    fi
}

# The value of an option of `attnzoo glimpse`; fails where the option takes none.
_attnzoo_glimpse_value() {
    local option=$1 value=$2
    case $option in
        --table | --attention) _attnzoo_files "$value" .npy .safetensors ;;
        --output) _attnzoo_files "$value" .npy .png ;;
        --edge) _attnzoo_offer "$value" drop pad ;;
        --other) _attnzoo_offer "$value" refuse zero ;;
        --alphabet | --tile | --step | --window | --hop | --padding | --query | --head) ;;
        *) return 1 ;;
    esac
}

_attnzoo_glimpse() {
    local previous=$1 kind=$2
    _attnzoo_glimpse_value "$previous" "$typed" && return
    if [[ $typed == --*=* ]]; then
        _attnzoo_glimpse_value "${typed%%=*}" "${typed#*=}"
    elif [[ $typed == -* ]]; then
        _attnzoo_offer "$typed" --alphabet --other --table --tile --step --grey --window --hop --mono --edge --padding \
            --attention --query --head --output --help
    elif [[ ${#words[@]} -eq 3 ]]; then
        _attnzoo_offer "$typed" text image audio draw
    else
        case $kind in
            image | draw) _attnzoo_files "$typed" .png ;;
            audio) _attnzoo_files "$typed" .wav ;;
            *) _attnzoo_files "$typed" ;;
        esac
    fi
}

_attnzoo() {
    local attnzoo=$1 words=() typed='' kept=0 kept_outside=0 previous mechanism='' mechanisms word
    COMPREPLY=()
    # bash has cut its own words at equals signs and colons, which are no ends of words here.
    _attnzoo_read_line
    if [[ ${#words[@]} -le 2 ]]; then
        _attnzoo_offer "$typed" list describe run compare glimpse help --version --help
        return
    fi
    previous=${words[-2]}
    mapfile -t mechanisms < <(_attnzoo_mechanisms "$attnzoo")
    case ${words[1]} in
        run)
            for word in "${words[@]:2:${#words[@]}-3}"; do
                [[ -z $mechanism && " ${mechanisms[*]} " == *" $word "* ]] && mechanism=$word
            done
            _attnzoo_run "$attnzoo" "$previous" "$mechanism"
            ;;
        describe) [[ ${#words[@]} -eq 3 ]] && _attnzoo_offer "$typed" "${mechanisms[@]}" --help ;;
        compare) _attnzoo_compare "$previous" ;;
        glimpse) _attnzoo_glimpse "$previous" "${words[2]}" ;;
        help) [[ ${#words[@]} -eq 3 ]] && _attnzoo_offer "$typed" list describe run compare glimpse ;;
        list)
            if [[ $typed == -* ]]; then
                _attnzoo_offer "$typed" --help
            else
                _attnzoo_files "$typed" .npy .safetensors
            fi
            ;;
    esac
    return 0
}

complete -F _attnzoo attnzoo
