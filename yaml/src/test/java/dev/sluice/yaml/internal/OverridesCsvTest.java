// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.testkit.Vectors;
import dev.sluice.yaml.TestFiles;
import dev.sluice.yaml.internal.OverridesCsv.Line;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class OverridesCsvTest {

  private static final Catalogue NAMES = Vectors.names().plus(Catalogue.samples());

  private final Limits.Builder limits = Limits.builder(NAMES);

  @Test
  void write_ofNoOverrides_writesTheHeader() throws IOException {
    assertThat(csv()).isEqualTo("name,id,count,burst,period,comment\n");
  }

  @Test
  void write_ofAnOverridesFile_needsNoDefaults() throws IOException {
    StringBuilder csv = new StringBuilder();
    OverridesCsv.write(
        TestFiles.builder()
            .overrides(TestFiles.folder("vectors").resolve("good-boulder-overrides.yml"))
            .build()
            .load(),
        csv);
    assertThat(csv.toString())
        .isEqualTo(
            """
            name,id,count,burst,period,comment
            NewOrdersPerAccount,12345678,600,300,3h0m0s,
            NewOrdersPerAccount,87654321,600,300,3h0m0s,
            NewRegistrationsPerIPAddress,10.0.0.2,40,20,1s,
            NewRegistrationsPerIPAddress,10.0.0.5,40,20,1s,
            """);
  }

  @Test
  void write_sortsByEachColumnInItsTurn() throws IOException {
    add("NewRegistrationsPerIPAddress", "10.0.0.1", 1, 1, Duration.ofDays(7), "");
    add("NewOrdersPerAccount", "1", 2, 2, Duration.ofSeconds(2), "b");
    add("NewOrdersPerAccount", "2", 2, 2, Duration.ofSeconds(2), "a");
    add("NewOrdersPerAccount", "10", 2, 2, Duration.ofSeconds(2), "a");
    add("NewOrdersPerAccount", "3", 2, 2, Duration.ofMillis(1500), "z");
    add("NewOrdersPerAccount", "4", 3, 2, Duration.ofSeconds(9), "z");
    add("NewOrdersPerAccount", "5", 1, 10, Duration.ofNanos(136_608_372), "z");
    assertThat(csv())
        .isEqualTo(
            """
            name,id,count,burst,period,comment
            NewOrdersPerAccount,5,10,1,136.608372ms,z
            NewOrdersPerAccount,4,2,3,9s,z
            NewOrdersPerAccount,3,2,2,1.5s,z
            NewOrdersPerAccount,10,2,2,2s,a
            NewOrdersPerAccount,2,2,2,2s,a
            NewOrdersPerAccount,1,2,2,2s,b
            NewRegistrationsPerIPAddress,10.0.0.1,1,1,168h0m0s,
            """);
  }

  @Test
  void write_sortsTextsAsTheirUtf8Does() throws IOException {
    add("ApiCallsPerKey", "\uff5e", 1, 1, Duration.ofSeconds(1), "");
    add("ApiCallsPerKey", "😀", 1, 1, Duration.ofSeconds(1), "");
    add("ApiCallsPerKey", "😁", 1, 1, Duration.ofSeconds(1), "");
    add("ApiCallsPerKey", "é", 1, 1, Duration.ofSeconds(1), "");
    assertThat(csv().lines().map(l -> l.split(",", -1)[1]))
        .containsExactly("id", "é", "\uff5e", "😀", "😁");
  }

  @Test
  void write_quotesWhatWouldBreakALine_andLeavesTheRestAsItIs() throws IOException {
    add("ApiCallsPerKey", "a,b", 1, 1, Duration.ofSeconds(1), "said \"hi\"");
    add("ApiCallsPerKey", "=1+1", 1, 1, Duration.ofSeconds(1), "two\nlines");
    add("ApiCallsPerKey", "-5", 1, 1, Duration.ofSeconds(1), "@x \r");
    add("ApiCallsPerKey", "+", 1, 1, Duration.ofSeconds(1), "=HYPERLINK(1)");
    assertThat(csv())
        .isEqualTo(
            """
            name,id,count,burst,period,comment
            ApiCallsPerKey,+,1,1,1s,=HYPERLINK(1)
            ApiCallsPerKey,-5,1,1,1s,"@x \r"
            ApiCallsPerKey,"a,b",1,1,1s,"said ""hi""\"
            ApiCallsPerKey,=1+1,1,1,1s,"two
            lines"
            """);
  }

  @Test
  void read_ignoresAByteOrderMark() {
    assertThat(read("\uFEFFname,id,count,burst,period,comment\nNewOrdersPerAccount,1,2,2,2s,\n"))
        .hasSize(1);
  }

  @Test
  void read_ofWhatWasWritten_givesTheSame_withSixAndNineColumns() throws IOException {
    add("NewOrdersPerAccount", "1", 2, 2, Duration.ofSeconds(2), "a \"b\",\nc");
    limits.override(
        new LimitOverride(
            NAMES.get("NewOrdersPerAccount"),
            "2",
            Quota.burst(3).refill(4, Duration.ofHours(1)),
            "",
            "ann",
            Instant.parse("2200-03-01T00:00:00Z")));
    List<LimitOverride> overrides = limits.overrides();
    assertThat(read(csv())).hasSize(2).allMatch(line -> line.enabled() == null);

    StringBuilder all = new StringBuilder();
    OverridesCsv.writeAll(
        overrides.stream().map(one -> new Line(one, one.id().equals("1"))).toList(), all);
    assertThat(all.toString()).contains(",4,3,1h0m0s,,ann,2200-03-01T00:00:00Z,false\n");
    assertThat(read(all.toString()))
        .containsExactlyInAnyOrder(
            new Line(overrides.get(0), overrides.get(0).id().equals("1")),
            new Line(overrides.get(1), overrides.get(1).id().equals("1")));
  }

  @Test
  void read_ofSeveralQuotas_givesTheSame_withSixAndNineColumns() throws IOException {
    LimitName name = NAMES.get("NewOrdersPerAccount");
    Quota hour = Quota.burst(3).refill(4, Duration.ofHours(1));
    Quota second = Quota.burst(2).refill(1, Duration.ofSeconds(1));
    limits.override(new LimitOverride(name, "1", List.of(second, hour), "a", "", null));
    limits.override(new LimitOverride(name, "2", List.of(second, hour), "a", "", null));
    limits.override(new LimitOverride(name, "3", hour, "a"));
    List<LimitOverride> overrides = limits.overrides();
    assertThat(read(csv()))
        .extracting(Line::override)
        .containsExactlyInAnyOrderElementsOf(overrides);
    StringBuilder all = new StringBuilder();
    List<Line> lines = overrides.stream().map(one -> new Line(one, !one.id().equals("2"))).toList();
    OverridesCsv.writeAll(lines, all);
    assertThat(read(all.toString())).containsExactlyInAnyOrderElementsOf(lines);
  }

  @Test
  void read_ofRowsThatAreNotQuotasOfOneOverride_namesTheLines() {
    String header = "name,id,count,burst,period,comment,author,until,enabled\n";
    String first = "NewOrdersPerAccount,1,1,1,1h,a,ann,2200-03-01T00:00:00Z,true\n";
    for (String row :
        List.of(
            "NewOrdersPerAccount,1,1,1,1s,b,ann,2200-03-01T00:00:00Z,true\n",
            "NewOrdersPerAccount,1,1,1,1s,a,bob,2200-03-01T00:00:00Z,true\n",
            "NewOrdersPerAccount,1,1,1,1s,a,ann,,true\n",
            "NewOrdersPerAccount,1,1,1,1s,a,ann,2200-03-01T00:00:00Z,false\n",
            "NewOrdersPerAccount,1,2,2,60m,a,ann,2200-03-01T00:00:00Z,true\n")) {
      assertThatThrownBy(() -> read(header + first + row))
          .as(row)
          .hasMessageStartingWith("line 3: found \"1\" again")
          .hasMessageEndingWith("it is on line 2 too");
    }
    String second = "NewOrdersPerAccount,1,1,1,1s,a,ann,2200-03-01T00:00:00Z,true\n";
    assertThatThrownBy(
            () -> read(header + first + first.replace("Account,1", "Account,2") + second))
        .hasMessageStartingWith("line 4: found \"1\" again");
    assertThatThrownBy(
            () ->
                read(
                    header
                        + first
                        + second
                        + second.replace("1s", "2s")
                        + second.replace("1s", "3s")
                        + second.replace("1s", "4s")))
        .hasMessage("line 6: found 5 quotas, expected 1 to 4");
  }

  @Test
  void read_ofMistakes_namesEachWithItsLine() {
    String header = "name,id,count,burst,period,comment\r\n";
    assertThatThrownBy(() -> read("limit,id\n")).hasMessageContaining("line 1: found \"limit,id\"");
    assertThatThrownBy(() -> read("")).hasMessageContaining("expected the header name,id,");
    assertThatThrownBy(
            () ->
                read(
                    header
                        + "NewOrdersPerAccount,1,x,1,1s,\n"
                        + "NewOrdersPerAccount,2,1,1,1s\n"
                        + "Nothing,2,1,1,1s,\n"
                        + "NewOrdersPerAccount,3,1,1,1s,\n"
                        + "NewOrdersPerAccount,3,1,1,1s,\n"))
        .hasMessageContaining("line 2: count: found \"x\", expected a whole number")
        .hasMessageContaining("line 3: found 5 columns, expected 6")
        .hasMessageContaining("line 4: ")
        .hasMessageContaining("line 6: found \"3\" again");
    assertThatThrownBy(() -> read(header + "a,\"b")).hasMessageContaining("does not end");
  }

  private static List<Line> read(String csv) {
    return OverridesCsv.read(csv, NAMES, Strictness.LENIENT);
  }

  private void add(
      String name, String id, long burst, long count, Duration period, String comment) {
    limits.override(
        new LimitOverride(NAMES.get(name), id, Quota.burst(burst).refill(count, period), comment));
  }

  private String csv() throws IOException {
    StringBuilder csv = new StringBuilder();
    OverridesCsv.write(limits.build(), csv);
    return csv.toString();
  }
}
