"""Print the completion for your shell; session names complete too."""

import argparse
from importlib import import_module

EXAMPLE = 'eval "$(sm completion bash)"'
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    if args.shell == "fish":
        print(_fish())
        return 0
    import shtab

    parser = whole_parser()
    _complete_names(parser)
    asking = _ZSH_NAMES if args.shell == "zsh" else ""
    print(shtab.complete(parser, shell=args.shell, preamble=asking))
    if args.shell == "bash":
        print(_BASH_NAMES)
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands in one parser: for completion and for the reference."""
    from sm.cli.main import COMMANDS

    whole = argparse.ArgumentParser(prog="sm")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND")
    for name, about in COMMANDS.items():
        module = import_module(f"sm.cli.{name}")
        command = commands.add_parser(name, help=about, description=module.__doc__)
        module.add_arguments(command)
    return whole


def _complete_names(whole: argparse.ArgumentParser) -> None:
    """Have zsh ask sm wherever a session is meant; folders complete in every shell."""
    import shtab

    for subparsers in whole._actions:
        if isinstance(subparsers, argparse._SubParsersAction):
            for command in subparsers.choices.values():
                for action in command._actions:
                    if action.metavar == "SESSION":
                        action.complete = {"zsh": "_sm_names"}
                    if action.metavar == "DIR":
                        asked = {"zsh": "_sm_channel"} if action.dest == "what" else {}
                        action.complete = {**shtab.DIRECTORY, **asked}


def _fish() -> str:
    from sm.cli.main import COMMANDS

    lines = ["complete -c sm -f"]
    seen = "not __fish_seen_subcommand_from " + " ".join(COMMANDS)
    for name, about in COMMANDS.items():
        lines.append(f"complete -c sm -n '{seen}' -a {name} -d {about!r}")
        command = argparse.ArgumentParser(prog=name)
        import_module(f"sm.cli.{name}").add_arguments(command)
        if name == "channel":
            lines.append(f"complete -c sm -n '__fish_seen_subcommand_from {name}' -a 'add remove'")
        for action in command._actions:
            flags = [f.removeprefix("--") for f in action.option_strings if f.startswith("--")]
            lines += [
                f"complete -c sm -n '__fish_seen_subcommand_from {name}' -l {flag}"
                for flag in flags
            ]
            if action.metavar == "FILE":
                lines.append(f"complete -c sm -n '__fish_seen_subcommand_from {name}' -F")
            if action.metavar == "DIR":
                lines.append(_fish_folders(name, action))
            if action.metavar == "SESSION":
                lines.append(
                    f"complete -c sm -n '__fish_seen_subcommand_from {name}' "
                    "-a '(sm ls 2>/dev/null | string match -r \"^[0-9a-f]{8}  (\\S+)\" -g)'"
                )
    return "\n".join(lines)


def _fish_folders(command: str, action: argparse.Action) -> str:
    """Behind its option, where it is one's value."""
    where = f"complete -c sm -n '__fish_seen_subcommand_from {command}'"
    options = [f"-l {flag.removeprefix('--')} -r" for flag in action.option_strings[:1]]
    return " ".join([where, *options, "-a '(__fish_complete_directories)'"])


_ZSH_NAMES = """
_sm_names() {
  local -a names
  names=(${(f)"$(sm ls 2>/dev/null | awk 'NR > 1 && $1 ~ /^[0-9a-f]+$/ {print $2}')"})
  compadd -a names
}
_sm_channel() {
  _alternative 'actions:action:(add remove)' 'folders:folder:_files -/'
}"""

_BASH_NAMES = """
# Session names, asked of sm itself.
_sm_names() {
  local names
  names=$(sm ls 2>/dev/null | awk 'NR > 1 && $1 ~ /^[0-9a-f]+$/ {print $2}')
  COMPREPLY+=($(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}"))
}
_sm_with_names() {
  type _shtab_sm >/dev/null 2>&1 && _shtab_sm "$@"
  case "${COMP_WORDS[1]}" in
    show|explain|attach|kill|release|rename|wait|tail|log|snapshot|send|messages|remind)
      [[ ${COMP_WORDS[COMP_CWORD]} == -* ]] || _sm_names ;;
    channel)
      [[ $COMP_CWORD -ne 2 ]] || COMPREPLY+=($(compgen -W "add remove" -- "${COMP_WORDS[2]}")) ;;
  esac
}
complete -F _sm_with_names sm"""
