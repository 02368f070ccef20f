// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgGroupSpec;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.MutuallyExclusiveArgsException;
import picocli.CommandLine.OverwrittenOptionException;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The messages for mistakes on the command line, which replace picocli's messages. Stateless. */
final class UsageErrors {

  private UsageErrors() {}

  static ParameterException commandMissing(CommandSpec command) {
    return mistake(
        command, command.qualifiedName() + " needs one of " + String.join(", ", names(command)));
  }

  static ParameterException mistake(CommandSpec command, String message) {
    return new OwnWords(command.commandLine(), message);
  }

  private static List<String> names(CommandSpec command) {
    return command.subcommands().values().stream()
        .filter(one -> !one.getCommandSpec().usageMessage().hidden())
        .map(CommandLine::getCommandName)
        .distinct()
        .toList();
  }

  private static final class OwnWords extends ParameterException {

    private static final long serialVersionUID = 1;

    OwnWords(CommandLine command, String message) {
      super(command, message);
    }
  }

  static String of(ParameterException e) {
    CommandSpec command = e.getCommandLine().getCommandSpec();
    if (e instanceof UnmatchedArgumentException unmatched && !unmatched.getUnmatched().isEmpty()) {
      return unmatched(unmatched.getUnmatched().get(0), command);
    }
    if (e instanceof MissingParameterException missing && !missing.getMissing().isEmpty()) {
      String unknown = unknownOption(command);
      return unknown == null ? missing(missing.getMissing(), command) : unmatched(unknown, command);
    }
    if (e instanceof MutuallyExclusiveArgsException) {
      return exclusive(String.valueOf(e.getMessage()), command);
    }
    if (e instanceof OverwrittenOptionException twice && twice.getOverwritten() != null) {
      return "%s: found twice, expected once".formatted(name(twice.getOverwritten()));
    }
    ArgSpec argument = e.getArgSpec();
    String value = e.getValue();
    if (argument != null && value != null) {
      return badValue(argument, value);
    }
    return noValue(e, argument);
  }

  private static String unmatched(String found, CommandSpec command) {
    String name = command.qualifiedName();
    if (found.startsWith("-") && found.length() > 1) {
      String option = found.replaceFirst("=.*", "");
      List<String> known =
          command.options().stream()
              .filter(one -> !one.hidden())
              .map(OptionSpec::longestName)
              .toList();
      if (option.equals("--port") && known.contains("--http")) {
        return "unknown option \"--port\" for %s; did you mean \"--http\"?".formatted(name);
      }
      if (known.contains(option)) {
        return "%s stands after --; write options before --".formatted(option);
      }
      return "unknown option %s for %s%s"
          .formatted(shown(option), name, Suggestion.didYouMean(option, known));
    }
    if (!command.subcommands().isEmpty()) {
      if (found.equals("version")) {
        return "unknown command \"version\"; did you mean \"--version\"?";
      }
      return "unknown command %s%s"
          .formatted(shown(found), Suggestion.didYouMean(found, command.subcommands().keySet()));
    }
    String taken = labels(command.positionalParameters().stream());
    return "unexpected argument %s: %s takes %s"
        .formatted(shown(found), name, taken.isEmpty() ? "options only" : taken);
  }

  /**
   * Returns the first unknown option; null if there is none. picocli would instead report a missing
   * option, which may only be misspelled.
   */
  private static @Nullable String unknownOption(CommandSpec command) {
    boolean isValue = false;
    for (String word : command.root().commandLine().getParseResult().originalArgs()) {
      if (word.equals("--")) {
        return null;
      }
      OptionSpec option = command.optionsMap().get(word.replaceFirst("=.*", ""));
      if (!isValue && option == null && word.startsWith("--")) {
        return word;
      }
      isValue = option != null && option.arity().min() > 0 && !word.contains("=");
    }
    return null;
  }

  /** Returns the message for mutually exclusive options; picocli's message lists the options. */
  private static String exclusive(String message, CommandSpec command) {
    for (ArgGroupSpec group : command.argGroups()) {
      List<ArgSpec> found =
          group.args().stream().filter(one -> message.contains(name(one))).toList();
      if (group.exclusive() && !found.isEmpty()) {
        return "found %s, expected one of %s"
            .formatted(
                found.stream().map(UsageErrors::name).collect(Collectors.joining(" and ")),
                group.args().stream().map(UsageErrors::label).collect(Collectors.joining(", ")));
      }
    }
    return "the command line cannot be read: " + shown(message);
  }

  private static String missing(List<ArgSpec> missing, CommandSpec command) {
    ArgSpec first = missing.get(0);
    if (first.group() != null && first.group().exclusive()) {
      return "%s needs one of %s"
          .formatted(
              command.qualifiedName(),
              missing.stream().map(UsageErrors::label).collect(Collectors.joining(", ")));
    }
    if (first.isOption() && isWithoutValue(first, command)) {
      return "%s: the value is missing, expected %s".formatted(name(first), first.paramLabel());
    }
    // picocli names only the first missing argument, but all later arguments are missing too.
    String labels =
        first.isOption()
            ? labels(missing.stream())
            : labels(command.positionalParameters().stream().dropWhile(one -> one != first));
    return "%s needs %s".formatted(command.qualifiedName(), labels);
  }

  /** Whether an option was given without a value: as the last word, or before another option. */
  private static boolean isWithoutValue(ArgSpec option, CommandSpec command) {
    List<String> words = command.root().commandLine().getParseResult().originalArgs();
    List<String> names = Arrays.asList(((OptionSpec) option).names());
    for (int i = 0; i < words.size(); i++) {
      boolean none =
          i + 1 == words.size()
              || command.optionsMap().containsKey(words.get(i + 1).replaceFirst("=.*", ""));
      if (none && names.contains(words.get(i))) {
        return true;
      }
    }
    return false;
  }

  private static String noValue(ParameterException e, @Nullable ArgSpec argument) {
    if (e instanceof OwnWords) {
      return String.valueOf(e.getMessage());
    }
    return argument == null
        ? "the command line cannot be read: " + shown(String.valueOf(e.getMessage()))
        : "%s: the value is missing, expected %s".formatted(name(argument), argument.paramLabel());
  }

  private static String badValue(ArgSpec argument, String value) {
    Class<?> type =
        argument.auxiliaryTypes().length > 0 ? argument.auxiliaryTypes()[0] : argument.type();
    String name = name(argument);
    if (type.isEnum()) {
      List<String> words = Stream.of(type.getEnumConstants()).map(String::valueOf).toList();
      return "%s: found %s, expected one of %s%s"
          .formatted(
              name, shown(value), String.join(", ", words), Suggestion.didYouMean(value, words));
    }
    if (type == boolean.class || type == Boolean.class) {
      return "%s: found the value %s, expected none".formatted(name, shown(value));
    }
    boolean whole =
        Stream.of(long.class, Long.class, int.class, Integer.class).anyMatch(one -> one == type);
    return "%s: found %s, expected %s"
        .formatted(name, shown(value), whole ? wholeNumber(value) : argument.paramLabel());
  }

  private static String wholeNumber(String found) {
    return found.matches("[+-]?[0-9]+") ? "a whole number with fewer digits" : "a whole number";
  }

  private static String labels(Stream<? extends ArgSpec> arguments) {
    return arguments.map(UsageErrors::label).collect(Collectors.joining(" and "));
  }

  private static String label(ArgSpec argument) {
    return argument instanceof OptionSpec option
        ? option.longestName() + " " + option.paramLabel()
        : argument.paramLabel();
  }

  private static String name(ArgSpec argument) {
    return argument instanceof OptionSpec option ? option.longestName() : argument.paramLabel();
  }

  /** Quotes a word, and hides a password in it, since a misplaced word can be an address. */
  private static String shown(String word) {
    return SafeText.quote(word.replaceAll("(?s)//.*@", "//…@"));
  }

  static String advice(CommandLine command) {
    return "Try: %s --help".formatted(command.getCommandSpec().qualifiedName());
  }
}
