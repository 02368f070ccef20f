// SPDX-License-Identifier: Apache-2.0
package login;

import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.runtime.Micronaut;

public final class LoginApplication {

  private LoginApplication() {}

  public static void main(String[] arguments) {
    var unused = Micronaut.run(LoginApplication.class, arguments);
  }

  @Controller("/login")
  static class Login {
    @Post
    HttpResponse<String> login(@QueryValue String password) {
      return password.equals("secret") ? HttpResponse.ok("welcome") : HttpResponse.unauthorized();
    }
  }
}
