// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import org.junit.jupiter.api.Test;

/** What the sources may not use. */
class AcmeRulesTest {

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(location -> !location.contains("/test-classes/"))
          .importPackages("dev.sluice.acme");

  /** A parser that can't name the network can't look anything up there. */
  @Test
  void nothing_usesTheNetwork() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("java.net..", "javax.naming..", "java.nio.channels..")
        .check(CLASSES);
  }

  @Test
  void ofTheHttpClientThatBringsTheSuffixList_nothingIsUsed() {
    noClasses().should().dependOnClassesThat().resideInAPackage("org.apache.hc..").check(CLASSES);
  }
}
