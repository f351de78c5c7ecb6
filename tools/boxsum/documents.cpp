#include "documents.hpp"

#include <boxsum/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace boxsum::cli {
namespace {

/// Commands that --help lists.
std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    std::vector<const CLI::App*> commands =
        app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); });
    return commands;
}

std::vector<const CLI::Option*> named_options(const CLI::App& command) {
    return command.get_options([](const CLI::Option* o) { return !o->get_positional() && !o->get_group().empty(); });
}

/// "-r, --radius"
std::string names_of(const CLI::Option& option, const std::string& between) {
    std::string text;
    for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : between + "-") + name;
    for (const std::string& name : option.get_lnames()) text += (text.empty() ? "--" : between + "--") + name;
    return text;
}

/// On one line; --help has some on several.
std::string description_of(const CLI::Option& option) {
    std::string text = option.get_description();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

bool takes_value(const CLI::Option& option) {
    return option.get_items_expected_max() > 0;
}

/// The words that an option can be, of its description: "padded, inclusive or exclusive", "of TIFF: none (default), lzw
/// or zstd". Nothing where the description is no such list.
std::vector<std::string> values_of(const CLI::Option& option) {
    std::string text = description_of(option);
    if (const std::size_t colon = text.find(": "); colon != std::string::npos) text = text.substr(colon + 2);
    for (std::size_t open = text.find('('); open != std::string::npos; open = text.find('('))
        text.erase(open,
                   text.find(')', open) == std::string::npos ? std::string::npos : text.find(')', open) + 1 - open);
    if (const std::size_t last = text.rfind(" or "); last != std::string::npos) text.replace(last, 4, ", ");
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        std::string word = text.substr(0, comma);
        text.erase(0, comma == std::string::npos ? std::string::npos : comma + 1);
        word.erase(0, word.find_first_not_of(' '));
        word.erase(word.find_last_not_of(' ') + 1);
        if (word.empty() || word == "...") continue;
        if (!std::all_of(word.begin(), word.end(),
                         [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-'; }))
            return {};
        words.push_back(word);
    }
    return words.size() > 1 ? words : std::vector<std::string>();
}

/// Text of a man page: a line that starts with a dot or a quote would be a request, a minus a hyphen.
std::string roff(std::string_view text) {
    std::string result;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) result += "\\&";
        if (c == '\\' || c == '-') result += '\\';
        result += c;
        line_start = c == '\n';
    }
    return result;
}

std::string shell_word(std::string_view text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

void append_options(std::string& page, const CLI::App& command) {
    for (const CLI::Option* option : command.get_options()) {
        if (option->get_group().empty()) continue;
        page += ".TP\n.B " + roff(option->get_positional() ? option->get_name(true) : names_of(*option, ", "));
        if (!option->get_positional() && takes_value(*option)) page += " \\fIVALUE\\fR";
        page += "\n" + roff(description_of(*option));
        if (!option->get_default_str().empty()) page += roff(" (default: " + option->get_default_str() + ")");
        page += "\n";
    }
}

std::string bash_script(const CLI::App& app) {
    std::string commands, cases;
    for (const CLI::App* command : commands_of(app)) {
        commands += command->get_name() + " ";
        std::string names, values;
        for (const CLI::Option* option : named_options(*command)) {
            names += names_of(*option, " ") + " ";
            std::string words;
            for (const std::string& word : values_of(*option)) words += word + " ";
            if (!words.empty() && takes_value(*option))
                values += "            " + names_of(*option, "|") + ") words='" + words + "' ;;\n";
        }
        cases += "        " + command->get_name() + ")\n            options='" + names +
                 "'\n            case $before in\n" + values + "            esac ;;\n";
    }
    return "# Completion of boxsum for bash.\n_boxsum() {\n    local current=${COMP_WORDS[COMP_CWORD]} "
           "before=${COMP_WORDS[COMP_CWORD-1]} words='' options=''\n    COMPREPLY=()\n    if [[ $COMP_CWORD -eq 1 || ( "
           "$COMP_CWORD -eq 2 && $before == help ) ]]; then\n        COMPREPLY=($(compgen -W '" +
           commands +
           "help --help --version' -- \"$current\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n" + cases +
           "    esac\n    if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    elif [[ $current == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
           "    else COMPREPLY=($(compgen -f -- \"$current\"))\n    fi\n}\ncomplete -o filenames -F _boxsum boxsum\n";
}

std::string zsh_script(const CLI::App& app) {
    std::string commands, cases;
    for (const CLI::App* command : commands_of(app)) {
        commands += "        " + shell_word(command->get_name() + ":" + command->get_description()) + "\n";
        cases += "        " + command->get_name() + ") _arguments -s";
        for (const CLI::Option* option : named_options(*command)) {
            std::string words;
            for (const std::string& word : values_of(*option)) words += word + " ";
            std::string help = description_of(*option);
            for (const char c : {'[', ']', ':'}) std::replace(help.begin(), help.end(), c, ' ');
            const std::string value = !takes_value(*option) ? ""
                                      : words.empty()       ? ":value:_files"
                                                            : ":value:(" + words + ")";
            for (const std::string& name : option->get_lnames())
                cases += " \\\n            " + shell_word("--" + name + "[" + help + "]" + value);
            for (const std::string& name : option->get_snames())
                cases += " \\\n            " + shell_word("-" + name + "[" + help + "]" + value);
        }
        cases += " \\\n            '*:file:_files' ;;\n";
    }
    return "#compdef boxsum\n# Completion of boxsum for zsh.\nlocal -a commands\ncommands=(\n" + commands +
           ")\nif (( CURRENT == 2 )); then\n    _describe command commands\nelse\n    local command=$words[2]\n    "
           "shift words\n"
           "    (( CURRENT-- ))\n    case $command in\n" +
           cases + "        help) _describe command commands ;;\n    esac\nfi\n";
}

std::string fish_script(const CLI::App& app) {
    std::string text = "# Completion of boxsum for fish.\n";
    for (const CLI::App* command : commands_of(app)) {
        text += "complete -c boxsum -f -n __fish_use_subcommand -a " + command->get_name() + " -d " +
                shell_word(command->get_description()) + "\n";
        for (const CLI::Option* option : named_options(*command)) {
            text += "complete -c boxsum -n '__fish_seen_subcommand_from " + command->get_name() + "'";
            for (const std::string& name : option->get_snames()) text += " -s " + name;
            for (const std::string& name : option->get_lnames()) text += " -l " + name;
            std::string words;
            for (const std::string& word : values_of(*option)) words += (words.empty() ? "" : " ") + word;
            if (takes_value(*option)) text += words.empty() ? " -r" : " -x -a " + shell_word(words);
            text += " -d " + shell_word(description_of(*option)) + "\n";
        }
    }
    return text;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
    std::string page = ".TH BOXSUM 1 \"\" \"boxsum " + std::string(version()) +
                       "\" \"User Commands\"\n.SH NAME\nboxsum \\- " + roff(app.get_description()) +
                       "\n.SH SYNOPSIS\n.B boxsum\n\\fICOMMAND\\fR [\\fIOPTION\\fR]... "
                       "\\fIFILE\\fR...\n.br\n.B boxsum help\n\\fICOMMAND\\fR\n.SH DESCRIPTION\n";
    page += ".nf\n" + roff(app.get_footer()) + "\n.fi\n.SH OPTIONS\n";
    append_options(page, app);
    for (const CLI::App* command : commands_of(app)) {
        page += ".SH \"boxsum " + command->get_name() + "\"\n" + roff(command->get_description()) + ".\n";
        append_options(page, *command);
        page += ".PP\n.nf\n" + roff(command->get_footer()) + "\n.fi\n";
    }
    return page;
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
    return shell == "bash" ? bash_script(app) : shell == "zsh" ? zsh_script(app) : fish_script(app);
}

}  // namespace boxsum::cli
