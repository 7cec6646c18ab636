import { ApiProperty } from '@nestjs/swagger';
import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('accounts', { synchronize: false })
export class Account {
  @ApiProperty({ format: 'uuid' })
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @ApiProperty({ example: 'ada' })
  @Column('text')
  handle: string;

  @ApiProperty({ enum: ['active', 'disabled'] })
  @Column('text', { default: 'active' })
  status: 'active' | 'disabled';

  @ApiProperty()
  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
