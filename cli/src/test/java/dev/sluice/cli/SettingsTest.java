// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

final class SettingsTest {

  private static final Path DOC = Path.of("../docs/configuration.md");

  @TempDir private Path folder;

  private static CommandLine sluice() {
    ByteArrayOutputStream nowhere = new ByteArrayOutputStream();
    return Main.commandLine(new Console(InputStream.nullInputStream(), nowhere, nowhere));
  }

  private static ParseResult flags(String... arguments) {
    return sluice()
        .parseArgs(Stream.concat(Stream.of("serve"), Stream.of(arguments)).toArray(String[]::new))
        .subcommand();
  }

  private static Settings settings(ParseResult flags, Map<String, String> environment) {
    return Settings.of(flags, flags.matchedOptionValue("--config", null), environment);
  }

  private static String page(ParseResult flags, Map<String, String> environment) {
    return String.join("\n", SettingsPage.lines(settings(flags, environment)));
  }

  private Path file(String text) throws IOException {
    return Files.writeString(folder.resolve("sluice.yml"), text);
  }

  /** All options that a file may hold, by their keys. */
  private static Map<String, OptionSpec> options() {
    return Settings.options(sluice().getSubcommands().get("serve").getCommandSpec());
  }

  private static String sample(OptionSpec option) {
    return Settings.isSwitch(option) ? "true" : "x1";
  }

  @Test
  void option_isAFlag_aVariable_andAKeyOfTheFile_underOneName() throws IOException {
    List<String> flags = new ArrayList<>();
    Map<String, String> variables = new TreeMap<>();
    List<String> lines = new ArrayList<>();
    options()
        .forEach(
            (key, option) -> {
              flags.add("--" + key + "=" + sample(option));
              variables.put(variable(key), sample(option));
              lines.add(key + ": " + sample(option));
            });
    Path file = file(String.join("\n", lines));
    String byFlag = page(flags(flags.toArray(String[]::new)), Map.of());
    String byVariable = page(flags(), variables);
    String byFile = page(flags("--config=" + file), Map.of());

    int line = 0;
    assertThat(lines).hasSizeGreaterThan(20);
    for (Map.Entry<String, OptionSpec> option : options().entrySet()) {
      String key = option.getKey();
      String value = sample(option.getValue());
      String shown = "(?m)^" + key + ": \\[?" + value + "]? +# ";
      line++;
      assertThat(byFlag).containsPattern(shown + "--" + key + "$");
      assertThat(byVariable).containsPattern(shown + variable(key) + "$");
      assertThat(byFile).containsPattern(shown + "\\Q" + file + "\\E:" + line + ":1$");
    }
  }

  private static String variable(String key) {
    return "SLUICE_" + key.toUpperCase(Locale.ROOT).replace('-', '_');
  }

  @Test
  void flagBeatsVariable_andVariableBeatsFile_andFileBeatsDefault() throws IOException {
    Path file = file("http: :1\nresp: :1\ngrpc: :1\n");
    Map<String, String> environment =
        Map.of("SLUICE_CONFIG", file.toString(), "SLUICE_HTTP", ":2", "SLUICE_RESP", ":2");

    assertThat(page(flags("--http", ":3"), environment))
        .containsPattern("http: \":3\" +# --http\n")
        .containsPattern("resp: \":2\" +# SLUICE_RESP\n")
        .containsPattern("grpc: \":1\" +# \\Q" + file + "\\E:3:1\n")
        .containsPattern("store: memory +# default\n")
        .containsPattern("# snapshot: +# not set\n");
  }

  @Test
  void switch_thatAVariableSets_isTakenBackByAFlag() {
    Map<String, String> environment = Map.of("SLUICE_REQUEST_LOG", "true");
    assertThat(page(flags(), environment)).contains("request-log: true ");
    assertThat(page(flags("--request-log=false"), environment)).contains("request-log: false ");
  }

  @Test
  void list_isOneOfTheFile_andSplitAtCommasElsewhere() throws IOException {
    Path file = file("host: [a, b]\non-failure: [\"local:4\", LoginsPerIPAddress=deny]\n");
    assertThat(page(flags("--config", file.toString()), Map.of()))
        .contains("host: [a, b] ")
        .contains("on-failure: [local:4, LoginsPerIPAddress=deny] ");
    assertThat(page(flags(), Map.of("SLUICE_HOST", "a, b"))).contains("host: [a, b] ");
    assertThat(page(flags("--host", "a,b", "--host", "c"), Map.of())).contains("host: [a, b, c] ");
  }

  @Test
  void page_isAFileThatSaysTheSame() throws IOException {
    String page =
        page(
            flags("--http", "[::1]:0", "--host", "*", "--limits", "a \"b\" \\ # c: d", "--for=X"),
            Map.of("SLUICE_SNAPSHOT", "é", "SLUICE_REQUEST_LOG", "true"));

    Path file = file(page);
    String again = page(flags("--config", file.toString()), Map.of());

    assertThat(withoutSources(again)).isEqualTo(withoutSources(page));
  }

  private static List<String> withoutSources(String page) {
    return page.lines().map(line -> line.replaceAll(" +# \\S+( set)?$", "")).toList();
  }

  @ParameterizedTest
  @CsvSource({
    "redis://app:S3cret@h:1/0?timeout=1s, redis://app:…@h:1/0?timeout=1s",
    "redis://S3cret@h, redis://…@h",
    "redis://:S3cret@h, redis://…@h",
    "redis://app:S3:c@ret@h, redis://app:…@h",
    "redis-sentinel://h/0?sentinelPassword=S3cret&x=1#m, redis-sentinel://h/0?sentinelPassword=…&x=1#m",
    "jdbc:postgresql://h/db?user=a&password=S3cret, jdbc:postgresql://h/db?user=a&password=…",
    "redis://h/0, redis://h/0",
    "redis://app:S3/cret@h, redis://…",
    "redis://app:S3#cret@h, redis://…",
    "redis://app:12/S3cret@h, redis://…",
    "redis://app:S3?cret@h, redis://…",
    "redis:/app:S3cret@h, redis:…",
    "redis://app:S3cret, redis://…",
    "jdbc:postgresql://u:S3/cret@h/db, jdbc:postgresql://…",
    "redis://h/0?sentinelPassword=S3@cret, redis://…",
    "http://c:4318/v1?api-key=S3cret, http://c:4318/v1?api-key=…",
    "http://c:4318/v1?x=1&X-Auth=S3;cret&y=2, http://c:4318/v1?x=1&X-Auth=…&y=2",
    "jdbc:postgresql://h/db?pass%77ord=S3cret, jdbc:postgresql://h/db?pass%77ord=…",
    "jdbc:postgresql://h/db?passfile=/run/pass, jdbc:postgresql://h/db?passfile=/run/pass",
    "jdbc:postgresql:db?password=S3cret, jdbc:postgresql:db?password=…",
    "http://[::1]:4318/v1, http://[::1]:4318/v1",
  })
  void page_hidesPasswordsOfAddresses(String address, String shown) {
    assertThat(SettingsPage.withoutSecrets(address, false)).isEqualTo(shown);
  }

  @ParameterizedTest
  @CsvSource({
    "redis://app@h:1/0, redis://app@h:1/0",
    "'redis-ring://app@h1:1,h2', 'redis-ring://app@h1:1,h2'",
    "postgresql://u@h/db, postgresql://u@h/db",
    "redis://app:S3cret@h, redis://app:…@h",
    "redis://:S3cret@h, redis://…@h",
    "redis://app@S3cret@h, redis://…@h",
    "redis://app%3AS3cret@h, redis://…@h",
  })
  void page_showsTheUserWhosePasswordIsElsewhere(String address, String shown) {
    assertThat(SettingsPage.withoutSecrets(address, true)).isEqualTo(shown);
  }

  @Test
  void page_hidesPasswordsBeforeSeveralHosts() {
    assertThat(SettingsPage.withoutSecrets("redis-ring://a:S3,cret@h1:1,h2", false))
        .isEqualTo("redis-ring://a:…@h1:1,h2");
    assertThat(SettingsPage.withoutSecrets("redis-ring://a:S3@h1,b:cret@h2", false))
        .isEqualTo("redis-ring://…");
  }

  @Test
  void page_showsTheUserOfTheStore_onlyBesideItsPassword() {
    assertThat(page(flags("--store=redis://app@h"), Map.of())).contains("store: \"redis://…@h\" ");
    assertThat(page(flags("--store=redis://app@h"), Map.of("SLUICE_STORE_PASSWORD", "S3cret")))
        .contains("store: redis://app@h ");
    assertThat(page(flags("--store=redis://app@h", "--store-password-file=f"), Map.of()))
        .contains("store: redis://app@h ");
    assertThat(page(flags("--overrides-db=postgresql://u@h/db"), Map.of()))
        .contains("overrides-db: postgresql://u@h/db ");
  }

  @Test
  void page_saysWhichSecretsAreSet_andShowsNone() {
    Map<String, String> environment = new TreeMap<>();
    Settings.SECRETS.forEach(name -> environment.put(name, "S3cret-of-more-than-32-characters"));
    String page = page(flags(), environment);
    Settings.SECRETS.forEach(
        name -> assertThat(page).containsPattern("# " + name + " +# set, hidden"));
    assertThat(page).doesNotContain("S3cret");
  }

  @Test
  void mistakes_inTheFileAndTheVariables_areAllToldAtOnce() throws IOException {
    Path file =
        file(
            """
            htp: :1
            resp:
            host: {a: 1}
            request-log: yes
            http: :1
            http: :2
            SLUICE_REQUEST_LOG: true
            """);
    Map<String, String> environment =
        Map.of("SLUICE_STROE", "memory", "SLUICE_REQUEST_LOG", "on", "SLUICE_CONFIG", "not.yml");

    assertThat(settings(flags("--config", file.toString()), environment).mistakes())
        .containsExactly(
            "SLUICE_STROE: unknown variable; did you mean \"SLUICE_STORE\"?",
            file + ":1:1: unknown option \"htp\"; did you mean \"http\"?",
            file + ":2:6: found nothing, expected a value: ADDR",
            file + ":3:7: found a map, expected a list of NAME, or one NAME",
            file + ":4:14: found \"yes\", expected true or false",
            file + ":6:1: found http twice, first at " + file + ":5:1",
            file
                + ":7:1: found SLUICE_REQUEST_LOG, the name of an environment variable;"
                + " write request-log here",
            "SLUICE_REQUEST_LOG: found \"on\", expected true or false");
  }

  @Test
  void keysAndValues_areToldTogether_andNothingIsStarted() throws IOException {
    Path file = file("htp: :1\nhttp: nonsense\ntls-client-auth: required\n");
    Cli run = Cli.run("serve", "--config", file.toString(), "--otlp-interval", "5s");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err())
        .contains(
            file + ":1:1: unknown option \"htp\"; did you mean \"http\"?",
            file + ":2:1: --http: found the address \"nonsense\"",
            file + ":3:1: --tls-client-auth requires --tls-client-ca FILE",
            "\n--otlp-interval requires --otlp URL",
            "sluice: the configuration has mistakes; nothing was started");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--resp 127.0.0.1:8080 | --resp: found port 8080, which --http uses already; give each option",
        "--http :9090 --resp :6380 --grpc 0.0.0.0:6380 | --grpc: found port 6380, which --resp uses already",
        "--overrides-interval 5s | --overrides-interval requires --overrides-db URL",
        "--otlp collector:4318 | --otlp: found \"collector:4318\", expected a URL such as",
        "--otlp http://key:ab^c@collector:4318 | --otlp: found \"http:…\", expected a URL",
        "--otlp key:S3cret@collector:4318 | --otlp: found \"…\", expected a URL",
        "--otlp http:/key:S3cret@collector:4318 | --otlp: found \"http:…\", expected a URL",
        "--otlp https://collector:4318?api-key=S3@cret | --otlp: found \"https:…\", expected a URL",
        "--otlp http://c:4318 --otlp-traced 2 | --otlp-traced: found \"2\", expected a number from 0",
        "--host a/b | --host: found \"a/b\", expected a name such as sluice.example.com",
        "--host a:8080 | --host: found \"a:8080\", expected a name",
        "--allow-origin example.com | --allow-origin: found \"example.com\", expected an origin",
        "--tokens none.yml | --tokens: none.yml: there is no such file",
        "--limits none.yml --names no-names.yml | --names: no-names.yml: there is no such file",
        "--override-store a --overrides-db postgresql://b/c | both keep overrides"
      })
  void optionsThatContradict_areRefused_beforeAnythingIsOpened(String options, String says) {
    Cli run = Cli.run(("serve " + options).split(" ", -1));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains(says);
  }

  @Test
  void help_showsEachOption_underOneHeading() {
    String whole = Cli.run("help", "serve").out();
    String help = whole.substring(0, whole.indexOf("\nExamples:"));
    options()
        .forEach(
            (key, option) ->
                assertThat(
                        help.lines()
                            .filter(line -> line.matches(" +(-., )?--" + key + "([=\\[ ].*)?")))
                    .as(key)
                    .hasSize(1));
    assertThat(help).contains("\nTLS and access:\n", "\nDoors:\n", "\nObservation:\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"'' | found an empty file", "[a] | found a list, expected a map", "a: b: c | YAML"})
  void file_thatIsNoMapOfOptions_isRefused(String text, String says) throws IOException {
    Path file = file(text);
    Cli run = Cli.run("serve", "--config", file.toString());
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains(file + ":1:", says, "nothing was started");
  }

  @Test
  void file_thatIsMissing_isRefused() {
    Cli run = Cli.run("serve", "--config", folder + "/none.yml");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err()).contains("none.yml:1:1: there is no such file");
  }

  @Test
  void values_thatAreWrong_areToldWithTheirPlace_allAtOnce() throws IOException {
    Path file = file("http: nonsense\nsnapshot-interval: 0s\nrls-overrides: maybe\n");
    Cli run = Cli.run("serve", "--config", file.toString(), "--resp", "nowhere");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err())
        .contains(
            file + ":1:1: --http: found the address \"nonsense\"",
            "\n--resp: found the address \"nowhere\"",
            file + ":2:1: --snapshot-interval: found 0s, expected a duration > 0",
            file + ":3:1: --rls-overrides: found \"maybe\", expected allow or ignore");
  }

  @Test
  void settingsOfEnvoysDoor_thatAreWrong_areTold() {
    Cli run =
        Cli.run("serve", "--rls-headers", "x", "--near-limit", "2", "--rls-header-names", "A,B,a");
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.err())
        .contains(
            "--rls-headers: found \"x\", expected ietf, draft03, legacy or none",
            "--near-limit: found \"2\", expected a share from 0 to 1, such as 0.8",
            "--rls-header-names: found \"A,B,a\", expected three different names");
    Cli others = Cli.run("serve", "--rls-headers", "ietf", "--rls-header-names", "A,B,C");
    assertThat(others.err()).contains("requires --rls-headers legacy, whose headers it renames");
  }

  @Test
  void headerNamesOfEnvoysDoor_thatSomethingElseSets_areRefused() {
    for (String name : List.of("Retry-After", "content-length")) {
      Cli run =
          Cli.run(
              "serve",
              "--near-limit=2", // also wrong, so that the server never starts
              "--rls-headers=legacy",
              "--rls-header-names=A," + name + ",C");
      assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
      assertThat(run.err())
          .contains("--rls-header-names: found \"" + name + "\", expected names of headers that");
    }
  }

  /** Kubernetes tells each container of the services around it in variables like these. */
  @ParameterizedTest
  @CsvSource({
    "SLUICE_SERVICE_HOST",
    "SLUICE_SERVICE_PORT_HTTP",
    "SLUICE_PORT",
    "SLUICE_PORT_8080_TCP_ADDR",
    "SLUICE_EU_PORT_8080_TCP",
    "SLUICE_OPTS",
    "SLUICE_DB",
    "SLUICING"
  })
  void variable_ofOthers_isIgnored(String name) {
    assertThat(page(flags(), Map.of(name, "tcp://10.0.0.1:8080"))).contains("http: ");
  }

  /** Without a look at any file: they may be on another machine. */
  @Test
  void printConfig_printsAndEnds() {
    Cli run =
        Cli.run("serve", "--print-config", "--resp=127.0.0.1:1", "--tokens=gone", "--limits=gone");
    assertThat(run.code()).isEqualTo(Exit.DONE);
    assertThat(run.out()).containsPattern("(?m)^resp: \"?127.0.0.1:1\"? +# --resp$");
    assertThat(run.err()).isEmpty();
  }

  @Test
  void printConfig_printsWhatTheServerWouldRefuse_andSaysSo() {
    Cli one = Cli.run("serve", "--print-config", "--missing-default", "never");
    assertThat(one.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(one.out()).containsPattern("(?m)^missing-default: never +# --missing-default$");
    assertThat(one.err()).contains("--missing-default: found \"never\", expected refuse");

    Cli several =
        Cli.run(
            "serve",
            "--print-config",
            "--http=:81",
            "--resp=:81",
            "--override-store=kept.yml",
            "--overrides-db=jdbc:postgresql://h/db");
    assertThat(several.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(several.out()).containsPattern("(?m)^resp: \":81\" +# --resp$");
    assertThat(several.err())
        .contains("--resp: found port 81, which --http uses already")
        .contains("--override-store and --overrides-db both keep overrides");
  }

  @Test
  void printConfig_findsWhatNeedsNoFile() {
    assertThat(refusedPage("--tls-key", "x")).contains("--tls-key requires --tls-certificate FILE");
    assertThat(refusedPage("--http", "0.0.0.0:18503")).contains("0.0.0.0:18503 is not loopback");
    assertThat(refusedPage("--store", "redis://u:pw@h", "--store-password-file", "gone"))
        .contains("--store: found a password in the address and another outside it")
        .doesNotContain("pw");
    assertThat(refusedPage("--store", "redis//h")).contains("--store: ");
  }

  private static String refusedPage(String... flags) {
    Cli run =
        Cli.run(
            Stream.concat(Stream.of("serve", "--print-config"), Stream.of(flags))
                .toArray(String[]::new));
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).contains("missing-default: refuse");
    return run.err();
  }

  @Test
  void printConfig_showsWhatHolds_besideAnUnknownKey() throws IOException {
    Cli run = Cli.run("serve", "--print-config", "--config", file("htp: x\n").toString());
    assertThat(run.code()).isEqualTo(Exit.BROKEN_INPUT);
    assertThat(run.out()).contains("missing-default: refuse");
    assertThat(run.err()).contains("unknown option \"htp\"; did you mean \"http\"?");
  }

  @Test
  void keyOfOtherWords_isShown_withWhatWasMeant() throws IOException {
    Path file = file("tokens-file: t\nstore-password: p\nhunter2-secret: p\n");
    assertThat(settings(flags("--config", file.toString()), Map.of()).mistakes())
        .containsExactly(
            file + ":1:1: unknown option \"tokens-file\"; did you mean \"tokens\"?",
            file + ":2:1: unknown option \"store-password\"; did you mean \"store-password-file\"?",
            file + ":3:1: unknown option (not shown, because this may be the wrong file)");
  }

  @Test
  void keyBesideAnOption_isShown() throws IOException {
    Path file = file("http: 127.0.0.1:0\nzebra: p\nquagga: p\n");
    assertThat(settings(flags("--config", file.toString()), Map.of()).mistakes())
        .containsExactly(
            file + ":2:1: unknown option \"zebra\"", file + ":3:1: unknown option \"quagga\"");
  }

  @Test
  void fileOfCommentsOnly_holdsNoOption_andAnEmptyOneIsRefused() throws IOException {
    Path comments = file("# http: :80\n\n  # resp: :81\n");
    assertThat(settings(flags("--config", comments.toString()), Map.of()).mistakes()).isEmpty();
    Path empty = file("\n");
    assertThat(settings(flags("--config", empty.toString()), Map.of()).mistakes())
        .singleElement()
        .asString()
        .contains("found an empty file");
  }

  /** As comments: in a file they would stay where the other options change. */
  @Test
  void page_showsDefaultsThatDependOnOtherOptions_whereTheyHold() {
    assertThat(page(flags(), Map.of()))
        .containsPattern("(?m)^# requests-per-address: unlimited +# default$")
        .containsPattern("(?m)^# rls-overrides: allow +# default$")
        .containsPattern("(?m)^# otlp-interval: +# not set$")
        .containsPattern("(?m)^# overrides-interval: +# not set$")
        .containsPattern("(?m)^# proxy-header: +# not set$")
        .containsPattern("(?m)^# snapshot-interval: +# not set$")
        .containsPattern("(?m)^# tls-client-auth: +# not set$");
    for (String open : List.of("--open", "--insecure", "--tls-client-ca=ca")) {
      assertThat(page(flags(open), Map.of()))
          .containsPattern("(?m)^# rls-overrides: ignore +# default$");
    }
    assertThat(page(flags(), Map.of("SLUICE_OPEN", "false")))
        .containsPattern("(?m)^# rls-overrides: allow +# default$");
    String[] others = {
      "--tokens=t",
      "--otlp=http://h:4318",
      "--overrides-db=jdbc:postgresql://h/db",
      "--trusted-proxies=10.0.0.1",
      "--snapshot=s",
      "--tls-client-ca=ca"
    };
    assertThat(page(flags(others), Map.of()))
        .containsPattern("(?m)^# requests-per-address: \"?100/1s,burst=1000\"? +# default$")
        .containsPattern("(?m)^# rls-overrides: ignore +# default$")
        .containsPattern("(?m)^# otlp-interval: 1m +# default$")
        .containsPattern("(?m)^# otlp-traced: 0 +# default$")
        .containsPattern("(?m)^# overrides-interval: 30s +# default$")
        .containsPattern("(?m)^# proxy-header: x-forwarded-for +# default$")
        .containsPattern("(?m)^# snapshot-interval: 1m +# default$")
        .containsPattern("(?m)^# tls-client-auth: required +# default$");
  }

  @Test
  void optionAboutTheConfiguration_isNoKeyOfAFile() throws IOException {
    Path file = file("config: foo\nprint-config: true\nhelp: true\n");
    assertThat(settings(flags("--config", file.toString()), Map.of()).mistakes())
        .containsExactly(
            file + ":1:1: `config` is not allowed in a file; give --config, or set SLUICE_CONFIG",
            file + ":2:1: `print-config` is not allowed in a file, only as a flag",
            file + ":3:1: `help` is not allowed in a file, only as a flag");
  }

  /** A server, to see that all three really reach it. */
  @Test
  void settings_ofFileAndVariables_areThoseOfTheServer() throws Exception {
    Path file = file("http: 127.0.0.1:0\nresp: 127.0.0.1:0\n");
    try (CliProcess cli =
            CliProcess.start(
                Map.of("SLUICE_GRPC", "127.0.0.1:0"), "serve", "--config", file.toString());
        var err = cli.err()) {
      // On a busy machine the server may warn first, of its own first calls.
      assertThat(err.lines().filter(line -> line.contains("http://127.0.0.1:")).findFirst())
          .get()
          .asString()
          .contains("redis://", "grpc://");
    }
  }

  @Test
  void docs_listEveryOption_withItsValue() throws IOException {
    String doc = Files.readString(DOC);
    options()
        .forEach(
            (key, option) -> {
              String label = Settings.isSwitch(option) ? "" : " " + option.paramLabel();
              assertThat(doc).contains("| `%s%s` |".formatted(key, label));
            });
  }
}
