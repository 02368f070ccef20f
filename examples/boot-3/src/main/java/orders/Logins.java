// SPDX-License-Identifier: Apache-2.0
package orders;

import dev.sluice.spring.RateLimited;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Service;
import org.springframework.web.bind.annotation.ResponseStatus;

@Service
public class Logins {

  @ResponseStatus(HttpStatus.UNAUTHORIZED)
  public static class BadPasswordException extends RuntimeException {}

  /** A successful login costs nothing; the fourth failed login of a user is denied. */
  @RateLimited(
      limit = "BadPasswordsPerUser",
      id = "#user",
      countOnlyOn = BadPasswordException.class)
  public String login(String user, String password) {
    if (!password.equals("secret")) {
      throw new BadPasswordException();
    }
    return "welcome, " + user;
  }
}
