// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * Runs a test of a Spring Boot application with the application's limits and with a clock that
 * stands still. Use this annotation together with {@code @SpringBootTest} or with a slice such as
 * {@code @WebMvcTest}.
 *
 * <p>Limits, names and rules come from the application's own properties. The buckets are in memory,
 * whatever the value of {@code sluice.store} is, and are full before each test method. If the
 * application has a bean of type {@link dev.sluice.store.BucketStore}, the test uses that bean
 * instead; give the bean a profile that the test does not have. A test can inject these beans:
 * {@link dev.sluice.testkit.ManualTime}, the clock of Sluice, {@link dev.sluice.Limiter}, {@link
 * dev.sluice.AsyncLimiter}, {@link dev.sluice.limit.CurrentLimits}.
 *
 * <p>Requires {@code sluice-spring-boot-starter}, with Spring Boot 3.5 or 4. Test methods that
 * share an application context share the buckets and the clock, so these methods must not run in
 * parallel.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration
public @interface AutoConfigureSluice {}
