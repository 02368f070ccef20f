// SPDX-License-Identifier: Apache-2.0
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.util.Arrays;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs the named test classes: exit code 0 if all pass, 1 if one fails, 2 if none ran. */
public final class RunTests {

  private RunTests() {}

  public static void main(String[] names) {
    Launcher launcher = LauncherFactory.create();
    SummaryGeneratingListener summary = new SummaryGeneratingListener();
    launcher.execute(
        LauncherDiscoveryRequestBuilder.request()
            .selectors(Arrays.stream(names).map(name -> selectClass(name)).toList())
            .build(),
        summary);
    summary.getSummary().printFailuresTo(new PrintWriter(System.out), 3);
    long ran = summary.getSummary().getTestsStartedCount();
    long failed = summary.getSummary().getTotalFailureCount();
    System.out.println(ran + " tests, " + failed + " failures");
    System.exit(ran == 0 ? 2 : failed > 0 ? 1 : 0);
  }
}
