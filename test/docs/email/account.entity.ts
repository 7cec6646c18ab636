export { Account } from '../readme/account.entity';
